#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/training/builder.hpp"
#include "sim/training/layers.hpp"
#include "sim/training/method.hpp"

namespace stepcast {

/// One parameter tensor of the model.
struct ParameterRef {
  int layer{}, index{};
  double elements{};
  double rows{1};  ///< its first dimension, which FSDP2 cuts
};

/// Everything that the strategies share while they write a step.
struct StepContext {
  StepContext(const PlanInputs& inputs, const PlanOptions& options);
  StepContext(const StepContext&) = delete;
  StepContext& operator=(const StepContext&) = delete;

  const PlanInputs& inputs;
  const TrainingSection& training;
  const Model& model;
  int world{};
  int layer_count{};
  StepBuilder builder;
  LayerWorks layers;
  std::vector<ParameterRef> parameters;  ///< in registration order
  std::vector<int> first_parameter;      ///< of each layer, in `parameters`
  double total_elements{};

  /// Micro-batches written out: the first, the last and some between them. `repeated` more are like the last
  /// but one.
  int planned_micro_batches{}, repeated_micro_batches{};
  [[nodiscard]] bool is_last(int micro_batch) const { return micro_batch + 1 == planned_micro_batches; }
  /// Whether gradients are exchanged in this micro-batch.
  [[nodiscard]] bool synchronises(int micro_batch) const {
    return training.gradient_sync == GradientSync::every || is_last(micro_batch);
  }

  [[nodiscard]] std::vector<Group> world_group() const;
  /// Costs of copies, memoized by size: see CostModel::copy_work.
  [[nodiscard]] WorkId copy_work(const std::string& name, double bytes, int kernels);

 private:
  std::map<std::tuple<std::string, double, int>, WorkId> copies_;
};

/// What each step pays once before its first micro-batch: the CPU's own work, and the input's tasks.
class StepInput {
 public:
  explicit StepInput(StepContext& context);
  /// Marks the micro-batch and makes its forward wait for its samples.
  void begin_micro_batch(int micro_batch);

 private:
  StepContext& context_;
  std::vector<TaskId> samples_;
};

void forward_pass(StepContext& context);
/// Recomputation and backward of every layer, without events between them.
void backward_pass(StepContext& context);
/// Likewise, cut at the points where gradients become ready: `on_ready(parameter)` is called, in the order of
/// hooks, after the kernels that produce that gradient.
void backward_pass(StepContext& context, const std::function<void(int parameter)>& on_ready);
void recompute_layer(StepContext& context, int layer);

/// Under FSDP: gradients of several micro-batches add up before they are reduced.
[[nodiscard]] bool sums_whole_gradients(const TrainingSection& training);

/// stepcast-trainer keeps a copy of its fp32 weights in the type of the products, where that is narrower.
[[nodiscard]] bool keeps_narrow_weights(const TrainingSection& training);
/// Makes that copy of all weights, where there is one.
void narrow_weights(StepContext& context);

/// The update of `elements` parameters in `tensors` tensors; a measured workload's time shrinks with the
/// share.
/// @param gradient_bytes  per element, as the optimizer reads them
void optimizer_step(StepContext& context, double elements, int tensors, double gradient_bytes);

}  // namespace stepcast
