#include "sim/training/schedule.hpp"

#include <algorithm>
#include <numeric>

namespace stepcast {

StepContext::StepContext(const PlanInputs& plan_inputs, const PlanOptions& options)
    : inputs(plan_inputs),
      training(plan_inputs.scenario.training),
      model(plan_inputs.model),
      world(plan_inputs.scenario.gpus()),
      layer_count(static_cast<int>(plan_inputs.model.layers.size())),
      builder(plan_inputs, options),
      layers(plan_inputs, builder) {
  for (int layer = 0; layer < layer_count; ++layer) {
    first_parameter.push_back(static_cast<int>(parameters.size()));
    const std::vector<Parameter>& own = model.layers[static_cast<std::size_t>(layer)].parameters;
    for (int index = 0; index < static_cast<int>(own.size()); ++index) {
      const Parameter& parameter = own[static_cast<std::size_t>(index)];
      const double rows = parameter.shape.empty() ? 1.0 : static_cast<double>(parameter.shape.front());
      parameters.push_back({layer, index, static_cast<double>(parameter.count()), rows});
      total_elements += parameters.back().elements;
    }
  }
  const int asked = training.gradient_accumulation_steps;
  // Fewer than a first, a middle and a last one cannot stand for the rest.
  planned_micro_batches = std::min(asked, std::max(3, options.planned_micro_batches));
  repeated_micro_batches = asked - planned_micro_batches;
}

std::vector<Group> StepContext::world_group() const {
  Group group;
  group.ranks.resize(static_cast<std::size_t>(world));
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return {std::move(group)};
}

WorkId StepContext::copy_work(const std::string& name, double bytes, int kernels) {
  const auto known = copies_.find({name, bytes, kernels});
  if (known != copies_.end()) return known->second;
  const WorkId work =
      builder.intern(bytes > 0 && kernels > 0 ? inputs.cost.copy_work(name, Bytes(bytes), kernels) : Work{});
  copies_.emplace(std::tuple(name, bytes, kernels), work);
  return work;
}

StepInput::StepInput(StepContext& context) : context_(context) {
  StepBuilder& builder = context.builder;
  builder.host_wait({}, context.inputs.profile.software.host_per_step.value, "step");
  builder.wait(StepBuilder::previous_step());
  const auto& rate = context.inputs.scenario.input.samples_per_second_per_node;
  if (!rate) return;
  const double samples = context.training.micro_batch_size * context.inputs.scenario.cluster.gpus_per_node;
  const WorkId work = builder.intern(measured_work("input", Seconds(samples / *rate)));
  const int stream = builder.add_stream("input");
  for (int m = 0; m < context.planned_micro_batches; ++m) {
    samples_.push_back(builder.compute_on(stream, TaskRole::input, work, {}, "input"));
  }
}

void StepInput::begin_micro_batch(int micro_batch) {
  context_.builder.begin_micro_batch(micro_batch);
  if (!samples_.empty()) context_.builder.wait(samples_[static_cast<std::size_t>(micro_batch)]);
}

void forward_pass(StepContext& context) {
  for (int layer = 0; layer < context.layer_count; ++layer) {
    context.builder.compute(TaskRole::forward, context.layers.forward(layer), layer);
  }
}

void recompute_layer(StepContext& context, int layer) {
  if (const auto work = context.layers.recompute(layer)) {
    context.builder.compute(TaskRole::recompute, *work, layer);
  }
}

void backward_pass(StepContext& context) {
  for (int layer = context.layer_count - 1; layer >= 0; --layer) {
    recompute_layer(context, layer);
    context.builder.compute(TaskRole::backward, context.layers.backward(layer), layer);
  }
}

void backward_pass(StepContext& context, const std::function<void(int parameter)>& on_ready) {
  for (int layer = context.layer_count - 1; layer >= 0; --layer) {
    recompute_layer(context, layer);
    const int first = context.first_parameter[static_cast<std::size_t>(layer)];
    for (const BackwardSegment& segment : context.layers.backward_segments(layer)) {
      context.builder.compute(TaskRole::backward, segment.work, layer);
      for (const int index : segment.ready) on_ready(first + index);
    }
  }
}

bool sums_whole_gradients(const TrainingSection& training) {
  return training.gradient_sync == GradientSync::last && training.gradient_accumulation_steps > 1;
}

bool keeps_narrow_weights(const TrainingSection& training) {
  return is_own_trainer(training) &&
         element_size(training.precision) < element_size(training.parameter_dtype);
}

void narrow_weights(StepContext& context) {
  const TrainingSection& training = context.training;
  if (!keeps_narrow_weights(training)) return;
  const double bytes = element_size(training.precision) + element_size(training.parameter_dtype);
  context.builder.compute(TaskRole::copy,
                          context.copy_work("narrow weights", bytes * context.total_elements, 1));
}

void optimizer_step(StepContext& context, double elements, int tensors, double gradient_bytes) {
  Work work;
  if (context.model.measured) {
    const double share = context.total_elements > 0 ? elements / context.total_elements : 1;
    work = workload_work(context.inputs, "optimizer", share * context.model.measured->optimizer_time);
  } else {
    work = context.inputs.cost.optimizer_work(elements, tensors,
                                              update_bytes_per_element(context.training, gradient_bytes));
  }
  context.builder.compute(TaskRole::optimizer, context.builder.intern(std::move(work)));
}

}  // namespace stepcast
