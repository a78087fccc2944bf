#pragma once

#include "topology/import/node_draft.hpp"
#include "topology/import/settings.hpp"
#include "topology/node_toml.hpp"

namespace stepcast {

struct CompletedNode {
  NodeSpec node;  ///< sound only without questions
  NodeSources sources;
  std::vector<Question> questions;
  std::vector<std::string> notes;
};

/// Fills in what the draft leaves open: from the settings, which overrule the draft, else from what is known
/// of the GPU (known_hardware). What is still open becomes a question; nothing is guessed.
/// @param known_gpus  profiles that there are
/// @throws ScenarioError: settings that are no figures or that do not fit
[[nodiscard]] CompletedNode complete_node(const NodeDraft& draft, const std::vector<ImportSetting>& settings,
                                          const std::vector<std::string>& known_gpus);

}  // namespace stepcast
