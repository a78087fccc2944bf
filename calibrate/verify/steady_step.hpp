#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"
#include "calibrate/verify/training_log.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// What a number of timed steps come to.
struct SteadyStep {
  Seconds p05, p50, p95;  ///< quantiles, linear between the sorted times
  int steps{};            ///< times that count
  int warm_up{};          ///< times before them that were left out
};

/// Quantile of times, linear between neighbours. @param times  at least one
[[nodiscard]] Seconds quantile(std::vector<Seconds> times, double share);

/// Leaves out, at the start, times that are longer by a tenth than the median of the second half: there the
/// job still allocates, compiles and connects. At most half of them. @param times  at least one
[[nodiscard]] SteadyStep steady_step(const std::vector<Seconds>& times);

/// One optimizer step by the log: of its steps, or of its micro-steps times the scenario's accumulation.
/// `notes` gains what was left out and why.
[[nodiscard]] SteadyStep steady_step(const TrainingLog& log, const Scenario& scenario,
                                     std::vector<std::string>& notes);

/// Where the log tells of another job than the scenario: devices, batch, sequence length, sharding. Empty
/// when nothing speaks against it.
[[nodiscard]] std::vector<std::string> contradictions(const TrainingLog& log, const Scenario& scenario,
                                                      std::int64_t sequence_length);

}  // namespace stepcast
