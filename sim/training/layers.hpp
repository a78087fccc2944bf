#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/training/builder.hpp"

namespace stepcast {

/// A stretch of one layer's backward, ended by the kernel that completes the gradients of `ready` (indices
/// into Layer::parameters, in the order in which autograd's accumulators run: reverse registration within an
/// operator).
struct BackwardSegment {
  WorkId work;
  std::vector<int> ready;
};

/// Parameters that one leaf module owns, and what runs once they are there. Modules without parameters belong
/// to the one before (the first one of a layer also has what runs ahead of it).
struct ModuleUse {
  std::vector<int> parameters;
  WorkId forward, backward, recompute;  ///< recompute: what selective or full checkpointing repeats of it
  double elements{};
};

/// Kernels of the model's layers on one micro-batch, each distinct layer costed once. Measured layers
/// (`forward_time`) become one kernel of that length.
class LayerWorks {
 public:
  LayerWorks(const PlanInputs& inputs, StepBuilder& builder);

  /// Whether backward adds to gradients that are there already (micro-batches after the first).
  void accumulate(bool on) { options_.accumulate = on; }

  [[nodiscard]] WorkId forward(int layer);
  [[nodiscard]] WorkId backward(int layer);
  /// What checkpointing repeats before the layer's backward; nothing for embeddings and heads, which are not
  /// checkpointed.
  [[nodiscard]] std::optional<WorkId> recompute(int layer);
  [[nodiscard]] const std::vector<BackwardSegment>& backward_segments(int layer);
  [[nodiscard]] const std::vector<ModuleUse>& modules(int layer);

 private:
  struct Cached {
    std::optional<WorkId> forward, backward, recompute;
    bool recompute_known{};
    std::vector<BackwardSegment> segments;
    std::vector<ModuleUse> modules;
  };
  Cached& cached(int layer);
  [[nodiscard]] const Layer& layer_of(int layer) const;
  WorkId whole(int layer, Pass pass);
  [[nodiscard]] Work operator_work(const Operator& op, Pass pass) const;
  [[nodiscard]] std::vector<BackwardSegment> split_backward(const Layer& layer);
  [[nodiscard]] std::vector<ModuleUse> split_modules(const Layer& layer);

  const PlanInputs& inputs_;
  StepBuilder& builder_;
  CostOptions options_;
  std::map<std::pair<int, bool>, Cached> cached_;  ///< by layer and accumulation
};

/// For each operator of a layer, the parameters (indices into Layer::parameters) of which it is the first
/// user in forward order, hence the last one in backward, by descending index: autograd's accumulators run in
/// reverse registration order.
[[nodiscard]] std::vector<std::vector<int>> completed_by_operator(const Layer& layer);

/// Types of products, weights and gradients as the kernels see them.
[[nodiscard]] CostOptions cost_options(const TrainingSection& training);

/// One kernel of a measured length, which depends on nothing else.
[[nodiscard]] Work measured_work(std::string name, Seconds time);
/// Compute of a measured workload: under stepcast-trainer the model is paced, and this a pause.
[[nodiscard]] Work workload_work(const PlanInputs& inputs, std::string name, Seconds time);

/// Factor from a measured micro-batch to the scenario's (1 unless [model] scale_compute).
[[nodiscard]] double measured_scale(const PlanInputs& inputs);

/// True for layers that activation checkpointing wraps.
[[nodiscard]] bool checkpointed(const Layer& layer);
/// What the framework repeats under training.activation_checkpointing: "selective" is torch's per-operator
/// policy under pytorch-*, and what is cheap to repeat elsewhere.
[[nodiscard]] Recompute recompute_of(const TrainingSection& training);

}  // namespace stepcast
