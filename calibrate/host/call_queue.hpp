#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/units.hpp"

namespace stepcast {

/// Runs calls one after the other on a thread of its own, and keeps what they took. Nobody who waits uses a
/// core.
class CallQueue {
 public:
  struct Record {
    Seconds begin;  ///< when the call could begin: pushed, and the one before had ended
    Seconds end;
    Seconds host;  ///< CPU time of this thread and of its helpers
  };

  /// @param helpers  CPU time so far of other threads that work for the calls
  explicit CallQueue(std::function<Seconds()> helpers);
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;
  /// Runs what was pushed to its end.
  ~CallQueue();

  /// @return its number, from 0
  int push(std::function<void()> call);
  /// Blocks until the call has ended. @throws what the call threw
  [[nodiscard]] Record wait(int call);
  /// Whether wait() would return at once.
  [[nodiscard]] bool ended(int call);
  /// More CPU time that a call took, elsewhere.
  void add_host(int call, Seconds time);
  /// Whether a call has not ended yet.
  [[nodiscard]] bool busy();

 private:
  struct Entry {
    Record record;
    std::exception_ptr failure;
  };
  void run();

  std::function<Seconds()> helpers_;
  std::mutex mutex_;
  std::condition_variable pushed_, ended_;
  std::deque<std::function<void()>> waiting_;
  std::vector<Entry> entries_;  // of all calls
  std::size_t done_{};
  bool closing_{};
  std::thread thread_;
};

}  // namespace stepcast
