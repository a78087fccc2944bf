#pragma once

#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// What really runs for a (strategy, software) pair: design 6.2's table.
enum class Method {
  reducer,                ///< torch DDP's bucketed all-reduce
  zero_redundancy,        ///< torch ZeroRedundancyOptimizer
  deepspeed_all_reduce,   ///< DeepSpeed stage 0
  deepspeed_partitioned,  ///< DeepSpeed stages 1 and 2
  deepspeed_stage3,
  megatron_data_parallel,
  megatron_distributed_optimizer,
  fully_sharded,   ///< FSDP2, HSDP, and stepcast-trainer's zero3, fsdp, hsdp
  bucket_sharded,  ///< stepcast-trainer's zero1 and zero2
};

/// @throws InternalError for pairs that design 6.2 excludes; scenario files with such a pair never get here
[[nodiscard]] Method method_of(const TrainingSection& training);

/// The trainer of `stepcast verify`.
[[nodiscard]] bool is_own_trainer(const TrainingSection& training);

/// Bytes per parameter of each model state, and over how many ranks it is cut.
struct StateLayout {
  double parameter_bytes{}, gradient_bytes{}, optimizer_bytes{};
  int parameter_shards{1}, gradient_shards{1}, optimizer_shards{1};
};

/// States that one rank holds through the step (facts 3.5, 5.2, I21, I32):
///
/// | method                         | parameters     | gradients      | optimizer                   |
/// |--------------------------------|----------------|----------------|-----------------------------|
/// | reducer, all-reduce, megatron  | 1              | 1              | 1                           |
/// | zero1 of any kind              | 1              | 1              | 1/n                         |
/// | zero2                          | 1              | 1/n            | 1/n                         |
/// | zero3, fsdp (hsdp: n = shard)  | 1/n            | 1/n            | 1/n                         |
///
/// Parameters take parameter_dtype, where FSDP shards what the optimizer updates: optimizer_dtype. The
/// optimizer holds its moments (two for Adam and LAMB, one for SGD) and, with master_copy, the master
/// weights.
[[nodiscard]] StateLayout state_layout(const Scenario& scenario);

/// Ranks of one shard group: 1 for replicated methods, shard_degree for hsdp, else all.
[[nodiscard]] int shard_degree(const Scenario& scenario);

/// Moments that an optimizer keeps for each parameter.
[[nodiscard]] int moments_of(OptimizerKind optimizer);

/// Bytes that one update of one element reads and writes: weights and moments both ways, the gradient once;
/// LAMB adds its update and two norms (12 bytes); a master copy writes the low-precision weight too. fp32
/// Adam: 28 (facts 5.2).
[[nodiscard]] double update_bytes_per_element(const TrainingSection& training, double gradient_bytes);

}  // namespace stepcast
