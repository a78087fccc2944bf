#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "calibrate/backend.hpp"
#include "calibrate/launch/meeting.hpp"
#include "calibrate/trainer/trainer.hpp"
#include "calibrate/verify/verification.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// What the ranks of one training run make of a step.
///
/// All ranks end a synchronous step together, but for the time in which the last collective ends here or
/// there; whoever is late in one step is early in the next. So a step's time is the mean over ranks, whose
/// sum is the time that passed, and the figure is the median over steps. exposed_communication and optimizer
/// likewise; compute is the rest. memory_peak is the greatest of the ranks'.
/// @param by_rank  equally many steps, at least one
[[nodiscard]] StepFigures measured_figures(const std::vector<TrainedRun>& by_rank);

struct TrainedVerification {
  int steps{10}, warm_up{2};
  Seconds at_most{1e9};  ///< for the steps of one point
  const std::atomic<bool>* cancel{};
  /// On rank 0, after every step.
  std::function<void(std::size_t point, int step, int steps)> progress;
  /// On rank 0, as soon as a point is done: whatever happens later, it can be shown.
  std::function<void(VerifiedPoint)> done;
};

/// Why these ranks can't run the scenario ("needs 4 ranks, and 2 were started"); empty when they can.
[[nodiscard]] std::string cannot_run(const Scenario& scenario, const RankPlace& place);

/// Predicts every point and trains it on the hardware; all ranks call it alike. A point that can't exist
/// or can't be trained is done as invalid.
/// @throws MachineError; Interrupted when `cancel` became true; ScenarioError of a prediction
void verify_by_training(const std::vector<ScenarioPoint>& points, Backend& backend, Meeting& meeting,
                        const TrainedVerification& options);

/// "2 ranks on node1, node2: Intel(R) Xeon(R) ...".
[[nodiscard]] std::string hardware_of(const DeviceFacts& device, const RankPlace& place);

}  // namespace stepcast
