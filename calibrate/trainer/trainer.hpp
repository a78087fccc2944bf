#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/backend.hpp"
#include "calibrate/launch/meeting.hpp"
#include "models/model.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// One optimizer step as this rank saw it.
struct TrainedStep {
  Seconds time;     ///< from the end of the step before
  Seconds exposed;  ///< waiting for collectives (and for late ranks in them)
  Seconds optimizer;
  double loss{};  ///< mean over the global batch; NaN for paced models
};

struct TrainedRun {
  std::vector<TrainedStep> steps;  ///< without warm-up
  Bytes memory_peak;               ///< of this rank's device
  bool exposed_known{true};        ///< false on several GPUs: their streams wait unseen, `exposed` is 0
};

struct TrainOptions {
  int warm_up{2}, steps{10};
  Seconds at_most{1e9};  ///< fewer steps when time runs out, but at least three
  std::uint64_t seed{1};
  std::function<void(int done, int total)> progress;
};

/// Why the trainer can't run this model or strategy ("operator attention.rotary is not built into the
/// trainer"); empty when it can.
[[nodiscard]] std::string cannot_train(const Model& model, const TrainingSection& training,
                                       const ComputeDevice& device);

/// Trains `model` from random weights on generated data with the strategy, as docs/strategies.md describes
/// stepcast-trainer. All ranks of the meeting call it alike. A measured workload is paced: its layers'
/// compute pauses, while buckets, copies and collectives are real.
/// @throws MachineError, and std::invalid_argument where cannot_train says why
[[nodiscard]] TrainedRun train(const Model& model, const TrainingSection& training, Backend& backend,
                               Meeting& meeting, const TrainOptions& options);

}  // namespace stepcast
