#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/device.hpp"
#include "calibrate/launch/tcp_meeting.hpp"

namespace stepcast {

/// Signs of life come ten times as often as outside of tests; two seconds of silence leave room for a busy
/// machine.
inline MeetingLimits quick_limits() {
  MeetingLimits limits;
  limits.meet = Seconds(20);
  limits.heartbeat = Seconds(0.1);
  limits.silence = Seconds(2);
  return limits;
}

/// Sleeps for ever: a rank in a collective that doesn't come back.
inline void hang() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Fails the rank's process, which the test sees by its exit code 9.
inline void require(bool condition, const std::string& what) {
  if (condition) return;
  std::cerr << "not true: " << what << "\n";
  _exit(9);
}

/// Processes that meet on the loopback and then run `body`; each has its own host name ("a", "b", ... of
/// `hosts`), and all write to one file what they print on stderr.
class ForkedRanks {
 public:
  using Body = std::function<void(Meeting&)>;

  ForkedRanks(const std::string& hosts, const Body& body, const MeetingLimits& limits = quick_limits())
      : directory_(std::filesystem::temp_directory_path() / ("stepcast-ranks-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_);
    listener_ = listen_on(0);
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      start(static_cast<int>(rank), static_cast<int>(hosts.size()), std::string(1, hosts[rank]), body,
            limits);
    }
    listener_ = Socket();
  }
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;
  ~ForkedRanks() {
    for (const pid_t process : running_) {
      if (process > 0) kill(process, SIGKILL);
    }
    std::filesystem::remove_all(directory_);
  }

  void send_signal(int rank, int signal) const { kill(running_.at(static_cast<std::size_t>(rank)), signal); }

  /// The exit code, or 128 + the signal that killed it.
  int exit_code(int rank) {
    pid_t& process = running_.at(static_cast<std::size_t>(rank));
    int status = 0;
    waitpid(process, &status, 0);
    process = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::vector<int> exit_codes() {
    std::vector<int> codes;
    for (std::size_t rank = 0; rank < running_.size(); ++rank)
      codes.push_back(exit_code(static_cast<int>(rank)));
    return codes;
  }

  [[nodiscard]] std::string printed() const { return text_of("stderr"); }
  /// A file of the test's own.
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return directory_ / name; }
  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream in(file(name));
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void wait_for(const std::string& name) const {
    while (!std::filesystem::exists(file(name))) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

 private:
  void start(int rank, int size, const std::string& host, const Body& body, const MeetingLimits& limits) {
    const pid_t process = fork();
    if (process != 0) {
      running_.push_back(process);
      return;
    }
    (void)!std::freopen(file("stderr").c_str(), "a", stderr);
    setenv("STEPCAST_HOST_NAME", host.c_str(), 1);
    std::filesystem::current_path(directory_);
    int code = 0;
    try {
      Rendezvous rendezvous;
      rendezvous.rank = rank;
      rendezvous.size = size;
      rendezvous.job = "test";
      const ServerPlace place{{"127.0.0.1"}, port_of(listener_)};
      const auto meeting =
          meet_over_tcp(rendezvous, place, rank == 0 ? std::move(listener_) : Socket(), limits);
      body(*meeting);
    } catch (const MachineError& error) {
      std::cerr << "stepcast: error: " + std::string(error.what()) + "\n";  // one write, not to be torn
      code = 3;
    }
    _exit(code);
  }

  std::filesystem::path directory_;
  Socket listener_;
  std::vector<pid_t> running_;
};

}  // namespace stepcast
