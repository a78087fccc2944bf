#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "topology/import/import.hpp"
#include "topology/import/known_hardware.hpp"
#include "topology/node.hpp"

namespace stepcast {

/// The known ones, and one of which nothing more than the name is known.
inline std::vector<std::string> profiles() {
  std::vector<std::string> names{"mystery"};
  for (const KnownGpu& gpu : known_gpus()) names.push_back(gpu.profile);
  return names;
}

inline TopologyImport read_topology(const std::string& text,
                                    const std::vector<ImportSetting>& settings = {}) {
  return import_topology(text, "topo.txt", settings, profiles());
}

inline std::vector<std::string> keys_of(const TopologyImport& import) {
  std::vector<std::string> keys;
  for (const Question& question : import.questions) keys.push_back(question.key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// Asks again with the example of every question, as the message proposes, until nothing is open.
inline NodeSpec complete_by_examples(const std::string& text, std::vector<ImportSetting> settings = {}) {
  TopologyImport import = read_topology(text, settings);
  for (const Question& question : import.questions) settings.push_back({question.key, question.example});
  import = read_topology(text, settings);
  EXPECT_TRUE(import.questions.empty()) << "still asks for " << import.questions.front().key;
  return parse_node(import.toml, "imported.toml");
}

inline Diagnostic fault_in(const std::string& text, const std::vector<ImportSetting>& settings = {}) {
  try {
    (void)read_topology(text, settings);
  } catch (const ScenarioError& error) {
    return error.diagnostics().front();
  }
  return {{}, "(no fault)", ""};
}

inline const NodeWire* wire_between(const NodeSpec& node, const std::string& a, const std::string& b) {
  for (const NodeWire& wire : node.wires) {
    if ((wire.first.name() == a && wire.second.name() == b) ||
        (wire.first.name() == b && wire.second.name() == a))
      return &wire;
  }
  return nullptr;
}

}  // namespace stepcast
