#include "calibrate/launch/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace stepcast {

void Connection::send(const MeetingMessage& message) {
  out_ += encoded(message);
  flush();
}

void Connection::flush() {
  while (has_unsent()) {
    const ssize_t sent = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      // A broken connection shows when it is read from.
      if (errno != EAGAIN && errno != EWOULDBLOCK) broken_ = true;
      return;
    }
    out_.erase(0, static_cast<std::size_t>(sent));
  }
}

bool Connection::receive() {
  std::array<char, 65536> piece{};
  while (true) {
    const ssize_t got = recv(socket_.get(), piece.data(), piece.size(), 0);
    if (got > 0) {
      in_.append(piece.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      return false;
    } else if (errno != EINTR) {
      return true;
    }
  }
}

std::optional<MeetingMessage> Connection::next() {
  if (!greeted_) {
    const std::string wanted = greeting();
    const std::size_t seen = std::min(in_.size(), wanted.size());
    if (in_.compare(0, seen, wanted, 0, seen) != 0) throw ProtocolFault("it doesn't greet as stepcast does");
    if (seen < wanted.size()) return std::nullopt;
    in_.erase(0, wanted.size());
    greeted_ = true;
  }
  return take_message(in_);
}

}  // namespace stepcast
