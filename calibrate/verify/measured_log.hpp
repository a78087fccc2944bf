#pragma once

#include <string>
#include <vector>

#include "calibrate/verify/verification.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// A point whose measured side is the user's own training log.
struct LoggedPoint {
  VerifiedPoint point;
  std::string hardware;            ///< "train.log: DeepSpeed, 64 GPUs, 12 times by CurrSamplesPerSec"
  std::vector<std::string> notes;  ///< of the log: what was left out, where rates became times
  std::vector<std::string> contradictions;  ///< where the log tells of another job than the scenario
};

/// Predicts the scenario and lays the log beside it. A log tells no parts of a step, so those of the measured
/// side are not known.
/// @throws ScenarioError: no times in the log, or it can't be read; what Predictor throws
[[nodiscard]] LoggedPoint verify_against_log(const Scenario& scenario, const std::string& log_file,
                                             Predictor& predictor);

}  // namespace stepcast
