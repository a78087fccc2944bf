#pragma once

#include "calibrate/launch/socket.hpp"

namespace stepcast {

/// While it lives, SIGINT and SIGTERM are written as bytes to a socket instead of what they did before; a
/// second SIGINT ends the process at once. One at a time.
class SignalCatcher {
 public:
  /// @param to  must outlive it
  explicit SignalCatcher(const Socket& to);
  SignalCatcher(const SignalCatcher&) = delete;
  SignalCatcher& operator=(const SignalCatcher&) = delete;
  ~SignalCatcher();

 private:
  void (*interrupt_before_)(int){};
  void (*terminate_before_)(int){};
};

}  // namespace stepcast
