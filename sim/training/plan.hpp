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

/// GPUs of one kind: how long their kernels take.
struct GpuKind {
  const CostModel* cost{};
  double speed{1};  ///< of kernels, against what `cost` says
};

/// What planning needs besides the scenario; all by reference, all outlive the call.
struct PlanInputs {
  const Scenario& scenario;
  const Model& model;
  const Profile& profile;
  const CostModel& cost;
  const CollectiveModel& collectives;
  std::vector<GpuKind>
      kinds{};  ///< empty: all GPUs are as `cost` says; else `cost` is that of the first kind
  std::vector<int> kind_of_rank{};  ///< by rank; empty: all are of the first kind

  [[nodiscard]] double speed_of_kind(std::size_t kind) const { return kinds.empty() ? 1 : kinds[kind].speed; }
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
/// @throws std::invalid_argument when GPUs of different kinds would not run the same sequence of tasks, or
/// the network does not lead from one node of a group to another
[[nodiscard]] StepPlan plan_step(const PlanInputs& inputs, const PlanOptions& options = {});

}  // namespace stepcast
