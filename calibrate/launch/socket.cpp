#include "calibrate/launch/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "calibrate/device.hpp"

namespace stepcast {
namespace {

constexpr int stream = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

std::string errno_text() { return std::strerror(errno); }

void send_at_once(const Socket& socket) {
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size());
    return text.data();
  }
  if (address->sa_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
    inet_ntop(AF_INET6, &six->sin6_addr, text.data(), text.size());
    const std::string result = text.data();
    const std::string mapped = "::ffff:";  // an IPv4 connection to a socket of both families
    return result.starts_with(mapped) && result.find('.') != std::string::npos ? result.substr(mapped.size())
                                                                               : result;
  }
  return "127.0.0.1";
}

Socket try_listen(int family, int port) {
  Socket socket(::socket(family, stream, 0));
  if (!socket.is_open()) return {};
  const int on = 1, off = 0;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int bound = -1;
  if (family == AF_INET6) {
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    bound = bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any);
  } else {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(static_cast<std::uint16_t>(port));
    bound = bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any);
  }
  if (bound != 0 || listen(socket.get(), SOMAXCONN) != 0) return {};
  return socket;
}

std::string connect_one(const addrinfo& target, Seconds at_most, Socket& result) {
  Socket socket(::socket(target.ai_family, stream, 0));
  if (!socket.is_open()) return errno_text();
  if (connect(socket.get(), target.ai_addr, target.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno_text();
    pollfd waiting{socket.get(), POLLOUT, 0};
    if (poll(&waiting, 1, static_cast<int>(at_most.value * 1e3)) != 1) return "no answer";
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return std::strerror(error);
  }
  send_at_once(socket);
  result = std::move(socket);
  return "";
}

}  // namespace

Socket::~Socket() {
  if (is_open()) close(descriptor_);
}

Socket listen_on(int port) {
  Socket socket = try_listen(AF_INET6, port);
  if (!socket.is_open()) socket = try_listen(AF_INET, port);
  if (!socket.is_open()) {
    throw MachineError("rank 0 can't listen on TCP port " + std::to_string(port) + ": " + errno_text(),
                       "set MASTER_PORT to a free port of rank 0's host, the same in all processes");
  }
  return socket;
}

int port_of(const Socket& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

Socket accept_from(const Socket& listener) {
  Socket socket(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.is_open()) send_at_once(socket);
  return socket;
}

Connected connect_to(const std::string& host, int port, Seconds at_most) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int fault = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (fault != 0) return {{}, gai_strerror(fault)};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  Connected result;
  for (const addrinfo* target = found; target && !result.socket.is_open(); target = target->ai_next) {
    result.why = connect_one(*target, at_most, result.socket);
  }
  return result;
}

std::pair<Socket, Socket> socket_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, stream, 0, ends.data()) != 0) {
    throw MachineError("can't make a pair of sockets: " + errno_text());
  }
  return {Socket(ends[0]), Socket(ends[1])};
}

std::string local_address(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address_text(reinterpret_cast<const sockaddr*>(&address));
}

std::string peer_address(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address_text(reinterpret_cast<const sockaddr*>(&address));
}

std::vector<std::string> interface_addresses() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(found, freeifaddrs);
  std::vector<std::string> four, six;
  for (const ifaddrs* one = found; one; one = one->ifa_next) {
    if (!one->ifa_addr || (one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
    if (one->ifa_addr->sa_family == AF_INET) four.push_back(address_text(one->ifa_addr));
    if (one->ifa_addr->sa_family == AF_INET6) {
      const std::string text = address_text(one->ifa_addr);
      if (!text.starts_with("fe80:")) six.push_back(text);
    }
  }
  four.insert(four.end(), six.begin(), six.end());
  return four;
}

Seconds steady_now() {
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace stepcast
