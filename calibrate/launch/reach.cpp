#include "calibrate/launch/reach.hpp"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <thread>

#include "calibrate/device.hpp"
#include "calibrate/launch/node_identity.hpp"

namespace stepcast {
namespace {

std::string where(const ServerPlace& place) {
  std::string hosts;
  for (const std::string& host : place.hosts) hosts += (hosts.empty() ? "" : " or ") + host;
  return hosts + ", port " + std::to_string(place.port);
}

/// Says hello and waits for the first sign of being let in. @throws MachineError, ProtocolFault
bool let_in(Connection& connection, const Rendezvous& rendezvous, Seconds at_most) {
  connection.send(introduction(rendezvous));
  const Seconds until = steady_now() + at_most;
  while (true) {
    const Seconds rest = until - steady_now();
    if (rest.value <= 0) throw ProtocolFault("it doesn't answer");
    pollfd waiting{connection.socket().get(), POLLIN, 0};
    poll(&waiting, 1, static_cast<int>(std::ceil(rest.value * 1e3)));
    const bool open = connection.receive();
    if (const auto message = connection.next()) {
      if (message->kind == MessageKind::refuse) {
        throw MachineError(
            "rank 0 refuses rank " + std::to_string(rendezvous.rank) + ": " + message->fields.at(0),
            "start all ranks with one command and the same stepcast; MASTER_PORT sets another port");
      }
      if (message->kind == MessageKind::welcome) return true;
      throw ProtocolFault("it sends what isn't understood");
    }
    if (!open) return false;
  }
}

}  // namespace

MeetingMessage introduction(const Rendezvous& rendezvous) {
  return {MessageKind::hello,
          {STEPCAST_VERSION, rendezvous.job, std::to_string(rendezvous.rank), std::to_string(rendezvous.size),
           node_identity(), host_name()}};
}

Connection reach_rank_0(const Rendezvous& rendezvous, const ServerPlace& place, const MeetingLimits& limits) {
  const std::string self = "rank " + std::to_string(rendezvous.rank);
  const Seconds began = steady_now();
  Seconds next_note = began + Seconds(5);
  std::string why;
  bool strange = false;
  while (true) {
    for (const std::string& host : place.hosts) {
      Connected connected = connect_to(host, place.port, Seconds(2));
      if (!connected.socket.is_open()) {
        why = connected.why;
        continue;
      }
      Connection connection(std::move(connected.socket));
      try {
        if (let_in(connection, rendezvous, limits.silence)) return connection;
        why = "the connection was closed";
      } catch (const ProtocolFault& fault) {
        why = std::string("another program listens there: ") + fault.what();
        strange = true;
      }
    }
    const Seconds waited = steady_now() - began;
    // With one address to try, a stranger there will not go away.
    if (waited > limits.meet || (strange && place.hosts.size() == 1)) {
      throw MachineError(
          self + " (host " + host_name() + ") can't reach rank 0 at " + where(place) + ": " + why,
          strange ? "set MASTER_PORT to a free port of rank 0's host, the same in all processes"
                  : "set MASTER_ADDR to an address of rank 0's host that all hosts reach");
    }
    if (steady_now() >= next_note) {
      std::cerr << "stepcast: " + self + " waits for rank 0 at " + where(place) + ": " + why + " (" +
                       std::to_string(std::lround(waited.value)) + " s)\n";
      next_note = steady_now() + Seconds(10);
    }
    constexpr Seconds pause(0.2);
    std::this_thread::sleep_for(std::chrono::duration<double>(pause.value));
  }
}

}  // namespace stepcast
