#pragma once

#include "topology/import/fabric_draft.hpp"
#include "topology/import/source_text.hpp"

namespace stepcast {

[[nodiscard]] bool is_slurm_tree(const SourceText& text);

/// Slurm's topology.conf of the tree plugin: SwitchName lines with Switches or Nodes in bracket notation.
/// @throws ScenarioError: a switch that stands there twice, that is named and has no line, that is above
/// itself; brackets that are no ranges; no nodes
[[nodiscard]] FabricDraft read_slurm_tree(const SourceText& text);

}  // namespace stepcast
