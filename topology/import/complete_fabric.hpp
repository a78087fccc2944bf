#pragma once

#include "topology/import/fabric_draft.hpp"
#include "topology/import/settings.hpp"

namespace stepcast {

struct CompletedFabric {
  std::string toml;  ///< a fabric file with [graph]; empty while there are questions
  std::string summary;
  std::vector<Question> questions;
  std::vector<std::string> notes;
};

/// Efficiency and latencies come from the shipped fabric of the same transport and rate; a tree without rates
/// asks for transport, link.rate, nic.per_node and the oversubscription that its uplinks follow from.
/// @throws ScenarioError: settings that are no figures
[[nodiscard]] CompletedFabric complete_fabric(const FabricDraft& draft,
                                              const std::vector<ImportSetting>& settings);

}  // namespace stepcast
