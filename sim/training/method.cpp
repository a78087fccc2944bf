#include "sim/training/method.hpp"

#include <algorithm>

#include "base/diagnostic.hpp"

namespace stepcast {

Method method_of(const TrainingSection& training) {
  const std::string& software = training.software;
  const Strategy strategy = training.strategy;
  if (software == "deepspeed") {
    if (strategy == Strategy::ddp) return Method::deepspeed_all_reduce;
    if (strategy == Strategy::zero1 || strategy == Strategy::zero2) return Method::deepspeed_partitioned;
    if (strategy == Strategy::zero3) return Method::deepspeed_stage3;
  } else if (software == "megatron-core") {
    if (strategy == Strategy::ddp) return Method::megatron_data_parallel;
    if (strategy == Strategy::zero1) return Method::megatron_distributed_optimizer;
  } else if (is_own_trainer(training)) {
    if (strategy == Strategy::ddp) return Method::reducer;
    if (strategy == Strategy::zero1 || strategy == Strategy::zero2) return Method::bucket_sharded;
    return Method::fully_sharded;
  } else {
    if (strategy == Strategy::ddp) return Method::reducer;
    if (strategy == Strategy::zero1) return Method::zero_redundancy;
    if (strategy == Strategy::fsdp || strategy == Strategy::hsdp) return Method::fully_sharded;
  }
  throw InternalError(__FILE__, __LINE__, "strategy and software that do not go together");
}

bool is_own_trainer(const TrainingSection& training) { return training.software == "stepcast-trainer"; }

int shard_degree(const Scenario& scenario) {
  switch (scenario.training.strategy) {
    case Strategy::ddp:
      return 1;
    case Strategy::hsdp:
      return std::clamp(scenario.training.shard_degree > 0 ? scenario.training.shard_degree
                                                           : scenario.cluster.gpus_per_node,
                        1, scenario.gpus());
    default:
      return scenario.gpus();
  }
}

int moments_of(OptimizerKind optimizer) { return optimizer == OptimizerKind::sgd ? 1 : 2; }

StateLayout state_layout(const Scenario& scenario) {
  const TrainingSection& training = scenario.training;
  const int shards = shard_degree(scenario);
  const double moment = element_size(training.optimizer_dtype);
  StateLayout layout;
  layout.parameter_bytes = element_size(training.parameter_dtype);
  layout.gradient_bytes = element_size(training.gradient_dtype);
  layout.optimizer_bytes = moments_of(training.optimizer) * moment + (training.master_copy ? moment : 0);
  const Method method = method_of(training);
  const bool fully = method == Method::fully_sharded || method == Method::deepspeed_stage3;
  if (method == Method::fully_sharded) {
    // The shard is the master; the low-precision weights exist only while they are gathered.
    layout.parameter_bytes = moment;
    layout.optimizer_bytes = moments_of(training.optimizer) * moment;
  }
  layout.optimizer_shards = shards;
  layout.gradient_shards = fully || training.strategy == Strategy::zero2 ? shards : 1;
  layout.parameter_shards = fully ? shards : 1;
  return layout;
}

double update_bytes_per_element(const TrainingSection& training, double gradient_bytes) {
  const double moment = element_size(training.optimizer_dtype);
  const bool low_precision_copy = training.master_copy && element_size(training.parameter_dtype) < moment;
  const bool optimizer_owns_weights = training.master_copy || method_of(training) == Method::fully_sharded;
  const double weight = optimizer_owns_weights ? moment : element_size(training.parameter_dtype);
  double bytes = 2 * weight + 2 * moments_of(training.optimizer) * moment + gradient_bytes;
  if (training.optimizer == OptimizerKind::lamb) bytes += 12;
  if (low_precision_copy) bytes += element_size(training.parameter_dtype);
  return bytes;
}

}  // namespace stepcast
