#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// A small question, read as a user's file would be.
inline ScenarioFile question(const std::vector<Override>& overrides = {},
                             const std::vector<std::string>& profiles = {}) {
  const std::string path =
      testing::TempDir() + "/question-" + std::to_string(::getpid()) + ".toml";  // tests run side by side
  std::ofstream(path) << R"(title = "small"
[model]
preset = "gpt2"
sequence_length = 1024
[cluster]
nodes = 2
node = "dgx-a100-80g"
fabric = "infiniband-200g"
[training]
strategy = "ddp"
micro_batch_size = 4
gradient_accumulation_steps = 2
)";
  ScenarioFile file = load_scenario(path, overrides, profiles);
  std::remove(path.c_str());
  return file;
}

inline Report answer(const std::vector<Override>& overrides, RunOptions options = {}) {
  return run(question(overrides), options);
}

/// All warnings of a point that contain `word`.
inline std::string warnings_with(const PointReport& point, const std::string& word) {
  std::string found;
  for (const std::string& warning : point.warnings) {
    if (warning.find(word) != std::string::npos) found += warning;
  }
  return found;
}

}  // namespace stepcast
