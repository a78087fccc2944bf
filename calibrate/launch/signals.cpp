#include "calibrate/launch/signals.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

namespace stepcast {
namespace {

std::atomic<int> target{-1};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

extern "C" void pass_on(int signal) {
  const int before = errno;
  const char byte = static_cast<char>(signal);
  if (write(target.load(), &byte, 1) < 0) {
    // The socket is full of signals already.
  }
  if (signal == SIGINT) std::signal(SIGINT, SIG_DFL);
  errno = before;
}

}  // namespace

SignalCatcher::SignalCatcher(const Socket& to) {
  target = to.get();
  interrupt_before_ = std::signal(SIGINT, pass_on);
  terminate_before_ = std::signal(SIGTERM, pass_on);
}

SignalCatcher::~SignalCatcher() {
  std::signal(SIGINT, interrupt_before_);
  std::signal(SIGTERM, terminate_before_);
  target = -1;
}

}  // namespace stepcast
