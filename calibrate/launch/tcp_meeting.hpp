#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrate/launch/meeting.hpp"
#include "calibrate/launch/server.hpp"

namespace stepcast {

/// Where rank 0 may be reached, in the order to try.
struct ServerPlace {
  std::vector<std::string> hosts;
  int port{};
};

/// Meets the other ranks. On rank 0, `listener` is the socket that `place` names; elsewhere it is closed.
/// From then on SIGINT and SIGTERM on any rank end all, with 128 + the signal as exit code.
/// @throws MachineError when rank 0 can't be reached, or is another program, another version or another job
[[nodiscard]] std::unique_ptr<Meeting> meet_over_tcp(const Rendezvous& rendezvous, const ServerPlace& place,
                                                     Socket listener, const MeetingLimits& limits = {});

}  // namespace stepcast
