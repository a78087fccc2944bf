#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"

namespace stepcast {

/// A file that lives as long as the test needs it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = "stepcast-" + std::string(test->test_suite_name()) + "-" + test->name();
    std::replace(name.begin(), name.end(), '/', '-');  // of tests with parameters
    path_ = std::filesystem::temp_directory_path() / (name + ".toml");
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// The faults that `load` throws; empty when it throws none.
template <class Load>
std::vector<Diagnostic> faults_of(Load load) {
  try {
    (void)load();
  } catch (const ScenarioError& error) {
    return error.diagnostics();
  }
  return {};
}

}  // namespace stepcast
