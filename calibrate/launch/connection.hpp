#pragma once

#include <optional>
#include <string>

#include "calibrate/launch/message.hpp"
#include "calibrate/launch/socket.hpp"

namespace stepcast {

/// Messages over a socket, without ever blocking. Both ends greet before their first message.
class Connection {
 public:
  Connection() = default;
  explicit Connection(Socket socket) : socket_(std::move(socket)), out_(greeting()) {}

  [[nodiscard]] const Socket& socket() const { return socket_; }
  /// Sends what can be sent now, and keeps the rest for flush().
  void send(const MeetingMessage& message);
  void flush();
  [[nodiscard]] bool has_unsent() const { return !out_.empty() && !broken_; }
  /// Reads what is there; false when the other end has closed or the connection broke.
  [[nodiscard]] bool receive();
  /// The next whole message of what was read. @throws ProtocolFault, also when the other end didn't greet
  [[nodiscard]] std::optional<MeetingMessage> next();

 private:
  Socket socket_;
  std::string in_, out_;
  bool greeted_{}, broken_{};
};

}  // namespace stepcast
