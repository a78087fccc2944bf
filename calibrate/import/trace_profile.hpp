#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/log_collectives.hpp"
#include "calibrate/import/trace_summary.hpp"

namespace stepcast {

/// What traces do not say: the cluster, as of logs, and names of sections.
struct TraceContext {
  LogContext cluster;
  std::optional<std::string> gpu, software;
};

struct TraceProfile {
  std::string sections;                   ///< "" when the traces hold no figure of a profile
  std::vector<std::string> found, notes;  ///< a line each: figures, and what was left out and why
};

/// Figures of a profile out of traces of one job:
/// - [gpu] host_link_rate: median rate of large pinned copies; memory_rate: of large copies on the device,
/// read
///   plus written
/// - [software] host_per_kernel: median time of a launch call
/// - [[gemm]]: medians of products whose shapes were recorded and whose operands' order is known
/// - [[collective]]: of calls whose size and group are recorded. A rank's own time holds the wait for late
/// ranks;
///   with several ranks' traces a call takes the least of theirs (its end is common to all, so that this is
///   from the last one's start), and of equal calls the median; with one rank's the lower quartile of equal
///   calls.
[[nodiscard]] TraceProfile profile_of(const std::vector<TraceSummary>& traces, const TraceContext& context);

}  // namespace stepcast
