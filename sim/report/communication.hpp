#pragma once

#include <string>
#include <vector>

#include "sim/report/breakdown.hpp"

namespace stepcast {

/// One row per operation and group of the critical rank's calls, in the order of their first call: mean
/// payload, calls per step, total moving time (latency and bytes, without waits for late ranks), its exposed
/// part (never more than it), and bus bandwidth as nccl-tests defines it, from the mean payload and the mean
/// time. Algorithm and
/// protocol are those of the calls that move longest. Calls of one rank (a group without peers) move nothing
/// and are not listed (I3).
[[nodiscard]] std::vector<CommunicationRow> communication_rows(const Program& program,
                                                               const Timeline& timeline,
                                                               const StepAnalysis& analysis);

/// Bus bandwidth by the operation's name; 0 for a name that is none.
[[nodiscard]] BytesPerSecond bus_bandwidth_of(const std::string& operation, Bytes payload, int ranks,
                                              Seconds time);

}  // namespace stepcast
