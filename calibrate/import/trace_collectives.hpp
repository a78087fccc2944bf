#pragma once

#include <vector>

#include "calibrate/import/intervals.hpp"
#include "calibrate/import/trace_parts.hpp"

namespace stepcast {

/// The collectives of a trace, equal calls together. Sizes come from the kernels' own arguments, else from
/// the operator that launched them.
/// @param places     of the timeline's kernels
/// @param computing  when kernels ran that are no collectives
[[nodiscard]] std::vector<TracedSeries> collective_series(const TraceTimeline& timeline,
                                                          const std::vector<PartFinder::Place>& places,
                                                          const Intervals& computing);

}  // namespace stepcast
