#pragma once

#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// The framework that runs a strategy when none is named: deepspeed for zero*, pytorch-compiled otherwise.
[[nodiscard]] std::string default_software(Strategy strategy);

/// Fills parameter_dtype, gradient_dtype, reduce_dtype, optimizer_dtype and master_copy with what the
/// framework does for this strategy and precision (design 6.2): torch DDP under autocast keeps fp32
/// parameters and gradients; FSDP gathers and reduces in the compute type over fp32 shards; DeepSpeed and
/// Megatron hold 16-bit parameters with an fp32 master, Megatron with fp32 gradients
/// (facts 1.6, 2.1, 3.5, 4.1).
void set_default_dtypes(TrainingSection& training);

/// last for ddp, zero1 and Megatron; every for the rest (facts 14.2, 14.7).
[[nodiscard]] GradientSync default_gradient_sync(const TrainingSection& training);

/// Why this software can't run this strategy, with what to use instead; "" when it can.
[[nodiscard]] std::string unsupported_pair(Strategy strategy, const std::string& software);

}  // namespace stepcast
