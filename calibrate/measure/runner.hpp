#pragma once

#include <functional>
#include <vector>

#include "calibrate/measure/plan.hpp"
#include "calibrate/measure/sampler.hpp"

namespace stepcast {

/// How far a run is, for people.
struct CalibrationProgress {
  int done{}, total{};
  Seconds left;  ///< by what was expected, scaled by what such measurements have taken
  const Measurement& now;
};

struct RunnerOptions {
  MeasuringOptions measuring;
  Clock clock;
  std::function<bool()> stop;                                ///< asked after each measurement
  std::function<void(const CalibrationProgress&)> progress;  ///< on rank 0
  std::function<void(const Measured&)> keep;                 ///< on rank 0, after each measurement
};

struct CalibrationRun {
  std::vector<Measured> results;      ///< on rank 0
  std::vector<Measurement> left_out;  ///< on rank 0: for which no time was left
  bool stopped{};                     ///< before its end, because some rank was asked to
};

/// Makes the measurements of rank 0's plan on all ranks in lock step, in order; the other ranks' `plan` does
/// not count. A measurement ends when the interval of its median is tight (sampling_rule), after `most`
/// samples, or when its share of the budget is spent: what is left of the budget, divided among what is left
/// to do as their expected times. It has `least` samples at least. What would not fit into the time left even
/// so is left out.
/// @throws MachineError; the other ranks have then been told to end (Meeting::abandon)
[[nodiscard]] CalibrationRun run_plan(const std::vector<PlannedMeasurement>& plan, Backend& backend,
                                      Meeting& meeting, const RunnerOptions& options);

}  // namespace stepcast
