#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/timeline.hpp"

namespace stepcast {

struct TraceWorkload {
  std::string toml;  ///< that read_workload takes
  std::size_t layers{}, micro_batches{};
  double parameters{};
  std::vector<std::string> notes;
};

/// A trace as measured layers (design 6.2). A layer is an operator with parameters; what runs before it
/// without any is its, too. Times are means over equal micro-batches of the kernels' own times:
/// - forward: kernels launched outside of autograd's engine, up to the end of the layer's operator
/// - backward: kernels launched by autograd's operators, which bear the sequence numbers of the forward
/// operators
///   that they belong to
/// - optimizer_time: what Optimizer.step launched, and what ran between the backward and it
/// Collectives and copies between host and device are left out.
/// Of a trace whose events are cut off only micro-batches (and optimizer steps) count that have the same
/// kernels as another one; when there are none, it is refused.
/// @param samples  samples of one micro-batch; the first extent of the first layer's input by default
/// @throws ScenarioError when the trace does not hold what is needed, with what to record, and what can be
/// written by hand from it
[[nodiscard]] TraceWorkload workload_of(const TraceTimeline& timeline, const std::string& file,
                                        std::optional<std::int64_t> samples);

}  // namespace stepcast
