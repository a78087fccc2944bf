#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace stepcast::testing {

/// A scenario file in a folder of its own, deleted with it.
class ScenarioText {
 public:
  explicit ScenarioText(const std::string& text) {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("stepcast-scenario-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "s.toml") << text;
  }
  ~ScenarioText() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  ScenarioText(const ScenarioText&) = delete;
  ScenarioText& operator=(const ScenarioText&) = delete;

  [[nodiscard]] std::string path() const { return (folder_ / "s.toml").string(); }
  [[nodiscard]] std::filesystem::path folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

inline const std::string plain_scenario = R"(title = "t"
[model]
preset = "gpt2"
sequence_length = 1024
[cluster]
nodes = 2
node = "hgx-h100"
fabric = "infiniband-400g"
[training]
strategy = "ddp"
micro_batch_size = 2
)";

}  // namespace stepcast::testing
