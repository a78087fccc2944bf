#pragma once

#include <cstddef>
#include <vector>

#include "sim/training/schedule.hpp"

namespace stepcast {

/// What a strategy holds besides states and activations, in bytes, at the instants at which the peak can be.
struct BufferMemory {
  double forward_end{};
  double backward_start{};
  std::vector<double> backward;  ///< while each layer's backward runs
  double reduction{};            ///< after the last backward, when gradients are reduced then
  double optimizer{};
};

/// Buckets, gathered units, reduce-scatter inputs, casts, temporaries (facts 1.7, 2.2, 3.4, I22, I23):
/// - torch DDP: buckets of all gradients unless they are views; autocast keeps a 16-bit copy of the weights
/// of products
///   from forward until their backward (full checkpointing: only until the end of forward).
/// - DeepSpeed 1 and 2: reduce_bucket_size elements, twice with overlap_comm, whatever the model's size, and
/// the flattened
///   bucket; from the first gradient of a backward on where hooks fill it, else after backward.
/// - DeepSpeed 3: the same buffer for the whole run, what is gathered (fetch_trace.hpp), persistent
/// parameters.
/// - FSDP2: root unit, the unit that runs and its gradient, the gathered buffer of the next, retained
/// reduce-scatter inputs.
/// - foreach optimizers: one temporary as large as the updated weights; DeepSpeed: fp32 copies of the
/// gradients.
[[nodiscard]] BufferMemory buffer_memory(StepContext& context);

}  // namespace stepcast
