#include "ranks.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

namespace stepcast {
namespace {

/// A store of one file a key; enough of a meeting for ranks of one machine.
class FileMeeting final : public Meeting {
 public:
  FileMeeting(std::filesystem::path directory, int rank, int size) : directory_(std::move(directory)) {
    place_.rank = place_.local_rank = rank;
    place_.size = place_.local_size = size;
  }

  const RankPlace& place() const override { return place_; }
  std::string interface_address() const override { return "127.0.0.1"; }
  void put(const std::string& key, const std::string& value) override {
    const auto written = file(key + " of " + std::to_string(place_.rank));
    std::ofstream(written, std::ios::binary) << value;
    std::filesystem::rename(written, file(key));
  }
  std::string get(const std::string& key) override {
    while (!std::filesystem::exists(file(key))) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::ifstream stream(file(key), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void barrier() override { static_cast<void>(all("")); }
  std::vector<std::string> gather(const std::string& text) override {
    auto texts = all(text);
    return place_.rank == 0 ? texts : std::vector<std::string>{};
  }
  std::string broadcast(const std::string& text_of_rank_0) override { return all(text_of_rank_0).front(); }
  void doing(const std::string&, Seconds) override {}
  void on_abort(std::function<void()>) override {}
  void abandon(const std::string&) override {}

 private:
  std::filesystem::path file(std::string key) const {
    for (char& c : key) {
      if (c == '/') c = '_';
    }
    return directory_ / key;
  }
  std::vector<std::string> all(const std::string& text) {
    const std::string prefix = "all/" + std::to_string(meetings_++) + "/";
    put(prefix + std::to_string(place_.rank), text);
    std::vector<std::string> texts;
    for (int rank = 0; rank < place_.size; ++rank) texts.push_back(get(prefix + std::to_string(rank)));
    return texts;
  }

  std::filesystem::path directory_;
  RankPlace place_;
  int meetings_{};
};

}  // namespace

void with_ranks(int count, const std::function<void(Meeting&)>& body) {
  std::string name = (std::filesystem::temp_directory_path() / "stepcast-host-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int rank = 0; rank < count; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);  // a rank that hangs ends
      try {
        FileMeeting meeting(name, rank, count);
        body(meeting);
      } catch (const std::exception& failure) {
        ADD_FAILURE() << "rank " << rank << ": " << failure.what();
      }
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (int rank = 0; rank < count; ++rank) {
    int status = 0;
    waitpid(children[static_cast<std::size_t>(rank)], &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "rank " << rank << " of " << count;
  }
  std::filesystem::remove_all(name);
}

}  // namespace stepcast
