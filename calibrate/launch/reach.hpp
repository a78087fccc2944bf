#pragma once

#include "calibrate/launch/connection.hpp"
#include "calibrate/launch/tcp_meeting.hpp"

namespace stepcast {

/// What a rank says first.
[[nodiscard]] MeetingMessage introduction(const Rendezvous& rendezvous);

/// Connects to rank 0 and is let in; keeps trying for limits.meet, because ranks start at different times.
/// @throws MachineError
[[nodiscard]] Connection reach_rank_0(const Rendezvous& rendezvous, const ServerPlace& place,
                                      const MeetingLimits& limits);

}  // namespace stepcast
