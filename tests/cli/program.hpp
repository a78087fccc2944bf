#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace stepcast {

/// What one run of the program left.
struct Outcome {
  int exit_code{};
  std::string out, err;
};

/// A folder of its own for each test, and the program run in it.
class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("stepcast-" + std::to_string(::getpid()) + "-" + info->test_suite_name() + "-" + info->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  /// `arguments` as one would type them after "stepcast" (a shell reads them).
  Outcome stepcast(const std::string& arguments) const { return shell(program() + " " + arguments); }

  Outcome shell(const std::string& command) const {
    const std::string line =
        "cd '" + folder_.string() + "' && { " + command + "; } > stdout.txt 2> stderr.txt";
    const int status = std::system(line.c_str());
    Outcome outcome;
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = read("stdout.txt");
    outcome.err = read("stderr.txt");
    return outcome;
  }

  static std::string program() { return std::string("'") + STEPCAST_BINARY + "'"; }

  /// A small scenario that exists and fits; `extra` is appended.
  static std::string scenario(const std::string& extra = "") {
    return R"(title = "small"
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
)" + extra;
  }

  std::filesystem::path folder_;
};

}  // namespace stepcast
