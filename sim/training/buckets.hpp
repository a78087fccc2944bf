#pragma once

#include <span>
#include <vector>

namespace stepcast {

/// Parameters whose gradients travel together. `items` are indices into what the buckets were formed from.
struct Bucket {
  std::vector<int> items;
  double size{};  ///< sum over items, in the unit of the limit
  bool alone{};   ///< DeepSpeed: larger than the bucket, reduced in place
};

struct BucketItem {
  double size{};  ///< bytes
  int series{};   ///< one series per dtype
};

/// Torch DDP's rule (facts 1.2, I9, I10): an item is appended first and the bucket closes when its bytes
/// reach the limit, so that it overshoots by up to one item. Limits are `first` for the first bucket of each
/// series, `following` after. Buckets come in the order in which they close; what is left open closes at the
/// end, by series. Source: torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
[[nodiscard]] std::vector<Bucket> reducer_buckets(std::span<const BucketItem> items, double first,
                                                  double following);

/// DeepSpeed's ipg bucket (facts 3.2, 3.3): reduced *before* the item that would make it exceed `limit`
/// elements; an item larger than the limit is reduced alone, in place. Source: runtime/zero/stage_1_and_2.py,
/// reduce_independent_p_g_buckets_and_remove_grads.
[[nodiscard]] std::vector<Bucket> ipg_buckets(std::span<const double> elements, double limit);

/// Megatron's layout (facts 4.1, I33): with the distributed optimizer each item starts at a multiple of 64
/// elements and each bucket ends at one of lcm(data_parallel_size, 128). A bucket closes when it holds at
/// least `limit` elements (infinity: one bucket). `size` counts the padding. Source: Megatron-LM
/// core/distributed/param_and_grad_buffer.py.
[[nodiscard]] std::vector<Bucket> megatron_buckets(std::span<const double> elements, double limit,
                                                   int data_parallel_size, bool distributed_optimizer);

/// Greedy partition of ZeroRedundancyOptimizer: largest first, each to the rank that has least. Returns the
/// rank of each item. Source: torch/distributed/optim/zero_redundancy_optimizer.py, _partition_parameters.
[[nodiscard]] std::vector<int> greedy_partition(std::span<const double> sizes, int ranks);

}  // namespace stepcast
