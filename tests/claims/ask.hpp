#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace stepcast::testing {

/// The report on a shipped scenario with settings changed.
inline Report ask(const std::string& scenario, const std::vector<Override>& overrides) {
  return run(load_scenario(std::string(STEPCAST_SOURCE_DIR "/scenarios/") + scenario, overrides), {});
}

/// 8-to-32.toml as a single question.
inline PointReport ask_8_to_32(const std::string& strategy, const std::string& fabric, int accumulation,
                               int nodes = 4, std::vector<Override> more = {}) {
  std::vector<Override> overrides = {{"training.strategy", strategy},
                                     {"cluster.fabric", fabric},
                                     {"training.gradient_accumulation_steps", std::to_string(accumulation)},
                                     {"cluster.nodes", std::to_string(nodes)}};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return ask("8-to-32.toml", overrides).points.at(0);
}

}  // namespace stepcast::testing
