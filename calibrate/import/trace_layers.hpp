#pragma once

#include <string>
#include <vector>

#include "calibrate/import/timeline.hpp"

namespace stepcast {

/// One call of an operator with parameters in a forward.
struct LayerCall {
  const ShapedOperator* op{};
  TimedSpan span;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> parameters;  ///< name, shape
  double buffer_bytes{};
  std::int64_t last_sequence{-1};  ///< of autograd's numbers handed out up to its end
};

/// Calls of one micro-batch in forward order: those between two backwards.
struct TracedMicroBatch {
  std::int64_t begin{};  ///< end of the backward before it
  std::vector<LayerCall> calls;
  std::int64_t backward_begin{}, backward_end{};
};

/// Every micro-batch of a trace that has a backward.
[[nodiscard]] std::vector<TracedMicroBatch> micro_batches(const TraceTimeline& timeline);

/// True when both call the same operators with the same parameters.
[[nodiscard]] bool same_layers(const TracedMicroBatch& a, const TracedMicroBatch& b);

}  // namespace stepcast
