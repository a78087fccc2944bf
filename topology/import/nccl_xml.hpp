#pragma once

#include "topology/import/node_draft.hpp"
#include "topology/import/source_text.hpp"

namespace stepcast {

/// Reads NCCL's topology XML: what NCCL_TOPO_DUMP_FILE writes, and the files that clouds ship for
/// NCCL_TOPO_FILE. GPUs are numbered by `dev`, or in the order of their bus ids where the file has no <gpu>;
/// NVSwitches are one. Interfaces that are no hardware (docker, veth, ...) are left out with a note.
/// @throws ScenarioError: no XML, no <system>, <pci> without class, a GPU that stands there twice, NVLinks
/// whose ends disagree, no GPU
[[nodiscard]] NodeDraft read_nccl_xml(std::string_view xml, const std::string& file);

}  // namespace stepcast
