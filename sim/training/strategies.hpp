#pragma once

#include "sim/training/schedule.hpp"

namespace stepcast {

/// Each writes one whole step into context.builder and returns the task that closes it. What each pays per
/// micro-batch and per step, with sources: docs/strategies.md.

/// One rank: forward, backward and update, whatever the strategy (I3); FSDP keeps its local copies instead.
[[nodiscard]] TaskId plan_single_rank(StepContext& context);
[[nodiscard]] TaskId plan_ddp(StepContext& context);  // facts 1, 12.1
[[nodiscard]] TaskId plan_zero_redundancy_optimizer(StepContext& context);
[[nodiscard]] TaskId plan_deepspeed_all_reduce(StepContext& context);
[[nodiscard]] TaskId plan_deepspeed_partitioned(StepContext& context);           // facts 3.2, 12.5, 12.6
[[nodiscard]] TaskId plan_deepspeed_stage3(StepContext& context);                // facts 3.3, 12.7
[[nodiscard]] TaskId plan_megatron_data_parallel(StepContext& context);          // facts 4.1
[[nodiscard]] TaskId plan_megatron_distributed_optimizer(StepContext& context);  // facts 4.1, 12.8
[[nodiscard]] TaskId plan_fully_sharded(StepContext& context);                   // facts 2.2, 12.4
[[nodiscard]] TaskId plan_one_stream_sharded(StepContext& context);              // docs/strategies.md
[[nodiscard]] TaskId plan_bucket_sharded(StepContext& context);                  // docs/strategies.md

}  // namespace stepcast
