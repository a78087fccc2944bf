#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "sim/collective/collective.hpp"

namespace stepcast {

struct StepwiseResult {
  CollectivePlan plan;         ///< of the call, all groups together: what runs
  std::vector<Seconds> times;  ///< by group: when the last of its chunks has arrived
  std::vector<Seconds>
      fluid_times;           ///< by group: the same as fluid activities, one for each group, that share links
  Seconds time, fluid_time;  ///< of the slowest groups
  std::int64_t flows{};      ///< chunks times hops
};

/// Simulates one call chunk by chunk, every chunk on every hop a flow, all groups beginning at once on an
/// idle cluster. Algorithm, protocol, ceilings and latencies are those of CollectiveModel::plan: the base and
/// the pipeline's filling are paid once, the hops' latencies in equal parts by each step.
///
/// - ring, all_reduce, all_gather, reduce_scatter: S / n of each lane's share by step; a step begins when the
///   rank has sent its last chunk and has received the one before.
/// - ring, broadcast and reduce, and trees: chunks follow each other from hop to hop, so many that filling
///   their own pipeline takes two percent of the time, out of the plan's term for it, or half a percent.
/// - direct: one flow per message.
///
/// @throws std::invalid_argument: the call has no chunk-by-chunk form (reductions in switches, hierarchical),
///   or would take more than 16 million flows; and whatever plan() throws
/// @throws Interrupted when `cancel` is set
[[nodiscard]] StepwiseResult stepwise(const CollectiveModel& model, Operation operation, Bytes payload,
                                      const std::vector<Group>& groups, const CollectiveForce& force = {},
                                      const std::atomic<bool>* cancel = nullptr);

}  // namespace stepcast
