#pragma once

#include <utility>
#include <vector>

#include "calibrate/fit/curve_fit.hpp"

namespace stepcast {

/// One operation over groups of one shape, by size: where several groups were measured (each rail, say), the
/// median over them.
struct CollectiveSeries {
  Operation operation{};
  int ranks{}, nodes{1};
  std::vector<TimedSize> times;                      ///< ascending in size
  std::vector<std::pair<Bytes, Seconds>> cpu_times;  ///< of a call on the rank's core; empty on GPUs
  double spread{};                                   ///< median from run to run
};

/// In the order of their first measurement.
[[nodiscard]] std::vector<CollectiveSeries> collective_series(const MeasuredSet& set);

}  // namespace stepcast
