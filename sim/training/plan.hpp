#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/model.hpp"
#include "sim/collective/collective.hpp"
#include "sim/cost/cost.hpp"
#include "sim/engine/program.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/training/memory.hpp"

namespace stepcast {

/// What planning needs besides the scenario; all by reference, all outlive the call.
struct PlanInputs {
  const Scenario& scenario;
  const Model& model;
  const Profile& profile;
  const CostModel& cost;
  const CollectiveModel& collectives;
};

struct PlanOptions {
  bool unfolded{};  ///< simulate every rank
  bool detailed{};  ///< keep constituent kernels of compute tasks (traces)
  int planned_micro_batches{
      4};  ///< at most this many are written out; the rest repeat (Program::repeated_micro_batches)
};

struct StepPlan {
  Program program;
  MemoryReport memory;
  Flop model_flops;     ///< per step, all GPUs, matrix products, causal attention halved, no recomputation
  Flop hardware_flops;  ///< likewise with recomputation
  /// Work that shrinks with the shard, or an algorithm that is faster across nodes: why efficiency may
  /// pass 1.
  std::vector<std::string> notes;
};

/// Shards, buckets and collectives of one step, in dependency order; no times yet.
/// One function per (strategy, software) pair of the design's table; see sim/training/README.md.
[[nodiscard]] StepPlan plan_step(const PlanInputs& inputs, const PlanOptions& options = {});

}  // namespace stepcast
