#pragma once

#include "sim/training/memory.hpp"
#include "sim/training/schedule.hpp"

namespace stepcast {

/// Peak memory of one GPU. States are held for the whole step; activations and buffers are those of the
/// instant at which their sum is largest: end of forward, start of backward (logits and their gradient), each
/// layer's backward, the reduction after backward, the optimizer step (facts 5.1, 5.2, I41). Activations are
/// of one micro-batch (I42: states do not depend on its size). Left out: fragmentation beyond the profile's
/// allocator slack, the data loader, evaluation.
[[nodiscard]] MemoryReport memory_of_step(StepContext& context);

}  // namespace stepcast
