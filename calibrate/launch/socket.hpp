#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace stepcast {

/// Owns a file descriptor; all of ours are non-blocking and closed in children.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();
  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_{-1};
};

/// A TCP socket that listens on all interfaces; port 0 takes any. @throws MachineError
[[nodiscard]] Socket listen_on(int port);
[[nodiscard]] int port_of(const Socket& listener);
/// The next connection that waits, or a closed socket.
[[nodiscard]] Socket accept_from(const Socket& listener);

struct Connected {
  Socket socket;    ///< closed when it didn't succeed
  std::string why;  ///< it didn't
};
/// Tries every address of `host` in turn, `at_most` each.
[[nodiscard]] Connected connect_to(const std::string& host, int port, Seconds at_most);

/// Two ends of a connection inside this process. @throws MachineError
[[nodiscard]] std::pair<Socket, Socket> socket_pair();

/// This end's, and the other end's, address as text; "127.0.0.1" inside a process.
[[nodiscard]] std::string local_address(const Socket& socket);
[[nodiscard]] std::string peer_address(const Socket& socket);

/// Addresses of this host's interfaces that are up, without loopback and link-local ones; IPv4 first.
[[nodiscard]] std::vector<std::string> interface_addresses();

/// Of a clock that never jumps.
[[nodiscard]] Seconds steady_now();

}  // namespace stepcast
