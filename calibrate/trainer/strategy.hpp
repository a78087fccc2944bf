#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "calibrate/backend.hpp"
#include "calibrate/trainer/graph.hpp"
#include "calibrate/trainer/network.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// Adds up where a step's time goes, on the wall's clock.
class StepClock {
 public:
  /// Of one step.
  struct Parts {
    Seconds exposed, optimizer;
  };
  explicit StepClock(ComputeDevice& device) : device_(device) {}

  void wait(DeviceCommunicator& communicator, DeviceCommunicator::Ticket ticket);
  void optimizer(const std::function<void()>& update);
  [[nodiscard]] Parts take();

 private:
  ComputeDevice& device_;
  Parts parts_;
};

/// What every strategy works on.
struct StrategyInputs {
  const Model& model;
  const TrainingSection& training;
  const Graph& graph;
  Backend& backend;
  StepClock& clock;
  ParameterViews& views;
  Dtype compute{};  ///< of weights as kernels read them
  int rank{}, world{1};
  std::uint64_t seed{};

  [[nodiscard]] std::vector<int> all_ranks() const;
  /// Whether gradients are exchanged in this micro-batch.
  [[nodiscard]] bool synchronises(int micro_batch) const {
    return training.gradient_sync == GradientSync::every ||
           micro_batch + 1 == training.gradient_accumulation_steps;
  }
};

/// Owns a rank's share of parameters, gradients and optimizer states, and exchanges them. The schedule of
/// each is that of sim/training for the software stepcast-trainer (docs/strategies.md).
class TrainingStrategy {
 public:
  TrainingStrategy() = default;
  TrainingStrategy(const TrainingStrategy&) = delete;
  TrainingStrategy& operator=(const TrainingStrategy&) = delete;
  virtual ~TrainingStrategy() = default;
  /// One optimizer step, counted from 0.
  virtual void step(Network& network, int step) = 0;
};

/// All-reduced buckets (torch DDP); also whatever strategy with buckets runs on one rank.
[[nodiscard]] std::unique_ptr<TrainingStrategy> bucket_replicated(const StrategyInputs& inputs);
/// zero1 and zero2 on at least two ranks.
[[nodiscard]] std::unique_ptr<TrainingStrategy> bucket_sharded(const StrategyInputs& inputs);
/// zero3, fsdp and hsdp.
[[nodiscard]] std::unique_ptr<TrainingStrategy> fully_sharded(const StrategyInputs& inputs);

}  // namespace stepcast
