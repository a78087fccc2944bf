#pragma once

#include "calibrate/import/timeline.hpp"
#include "calibrate/import/trace_summary.hpp"

namespace stepcast {

/// Assigns kernels to steps and to parts of a step.
class PartFinder {
 public:
  explicit PartFinder(const TraceTimeline& timeline);

  struct Place {
    int step{-1};  ///< index into the timeline's steps
    StepPart part{StepPart::other};
    const TimedLaunch* launch{};
    const TimedSpan* backward{};  ///< the operator of autograd that launched it
  };
  /// - backward: launched inside an operator of autograd's engine
  /// - optimizer: inside Optimizer.step, or a multi-tensor or Adam kernel outside of backward
  /// - forward: elsewhere, before the step's (without steps: the trace's) last backward begins to run
  /// - other: after it, or launched by nobody that the trace knows
  [[nodiscard]] Place place_of(const TimedKernel& kernel) const;

 private:
  const TraceTimeline& timeline_;
  std::vector<std::int64_t> last_backward_;  ///< by step; the last entry is the whole trace's
  std::vector<bool> optimizer_name_;         ///< by kernel name
};

}  // namespace stepcast
