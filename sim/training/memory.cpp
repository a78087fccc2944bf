#include "sim/training/memory.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/training/activations.hpp"
#include "sim/training/buckets.hpp"
#include "sim/training/buffers.hpp"
#include "sim/training/fully_sharded.hpp"
#include "sim/training/memory_of_step.hpp"

namespace stepcast {
namespace {

/// Elements that a rank holds of a state cut over `shards` ranks, padding included (I25, I33).
double shard_elements(const StepContext& context, int shards) {
  if (shards == 1) return context.total_elements;
  switch (method_of(context.training)) {
    case Method::fully_sharded: {
      double sum = 0;
      for (const ShardUnit& unit : shard_units(context.model, shards)) sum += unit.elements;
      return sum / shards;
    }
    case Method::deepspeed_stage3: {
      double sum = 0;
      for (const ParameterRef& parameter : context.parameters) sum += std::ceil(parameter.elements / shards);
      return sum;
    }
    case Method::zero_redundancy: {
      std::vector<double> sizes;
      for (const ParameterRef& parameter : context.parameters) sizes.push_back(parameter.elements);
      const std::vector<int> owner = greedy_partition(sizes, shards);
      std::vector<double> of_rank(static_cast<std::size_t>(shards));
      for (std::size_t p = 0; p < sizes.size(); ++p) of_rank[static_cast<std::size_t>(owner[p])] += sizes[p];
      return *std::max_element(of_rank.begin(), of_rank.end());
    }
    default:
      return std::ceil(context.total_elements / shards);
  }
}

struct Instant {
  double activations{}, buffers{};
  std::string name;
};

std::vector<Instant> instants(StepContext& context) {
  const ActivationMemory activations = activation_memory(context.inputs);
  const BufferMemory buffers = buffer_memory(context);
  std::vector<Instant> found;
  if (context.layer_count == 0) return found;
  const double all = activations.kept_through(activations.kept.size() - 1);
  const bool logits = activations.logits_gradient > 0;
  const std::string about = logits ? " (logits)" : "";
  found.push_back({all + activations.logits_gradient, buffers.backward_start, "start of backward" + about});
  found.push_back({all, buffers.forward_end, "end of forward" + about});
  double kept = all;
  for (std::size_t i = activations.kept.size(); i-- > 0;) {
    // The head's own backward is the start of backward.
    if (!logits || context.model.layers[i].kind != LayerKind::head) {
      found.push_back({kept + activations.recreated[i] + activations.gradients[i], buffers.backward[i],
                       "backward of " + context.model.layers[i].name});
    }
    kept -= activations.kept[i];
  }
  found.push_back({0, buffers.reduction, "gradient reduction"});
  found.push_back({0, buffers.optimizer, "optimizer step"});
  return found;
}

}  // namespace

MemoryReport memory_of_step(StepContext& context) {
  const Scenario& scenario = context.inputs.scenario;
  const TrainingSection& training = context.training;
  const StateLayout layout = state_layout(scenario);
  MemoryReport report;
  report.parameters = Bytes(layout.parameter_bytes * shard_elements(context, layout.parameter_shards));
  report.gradients = Bytes(layout.gradient_bytes * shard_elements(context, layout.gradient_shards));
  report.optimizer = Bytes(layout.optimizer_bytes * shard_elements(context, layout.optimizer_shards));
  if (method_of(training) == Method::fully_sharded && sums_whole_gradients(training) &&
      !is_own_trainer(training)) {
    // Without reduce-scatters in between, gradients add up unsharded (I17); the trainer's buffers hold them.
    report.gradients += Bytes(element_size(training.reduce_dtype) *
                              shard_elements(context, layout.gradient_shards) * layout.gradient_shards);
  }
  const std::vector<Instant> candidates = instants(context);
  const auto peak =
      std::max_element(candidates.begin(), candidates.end(), [](const Instant& a, const Instant& b) {
        return a.activations + a.buffers < b.activations + b.buffers;
      });
  if (peak != candidates.end()) {
    report.activations = Bytes(peak->activations);
    report.buffers = Bytes(peak->buffers);
    report.peak_at = peak->name;
  }
  const Profile& profile = context.inputs.profile;
  report.slack = profile.software.allocator_slack.value * report.allocated_peak();
  report.framework = profile.gpu.context_memory.value;
  if (context.world > 1) {
    const int shards = shard_degree(scenario);
    const bool two = training.strategy == Strategy::hsdp && shards > 1 && shards < context.world;
    report.framework += (two ? 2.0 : 1.0) * profile.links.nccl_memory.value;
  }
  report.capacity = profile.gpu.memory_capacity.value;
  for (Bytes* part : {&report.parameters, &report.gradients, &report.optimizer, &report.activations,
                      &report.buffers, &report.slack, &report.framework, &report.capacity}) {
    part->value = std::round(part->value);  // whole bytes, so that the parts add up to the letter
  }
  return report;
}

}  // namespace stepcast
