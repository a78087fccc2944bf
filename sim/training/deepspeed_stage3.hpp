#pragma once

#include <vector>

#include "sim/training/fetch_trace.hpp"
#include "sim/training/schedule.hpp"

namespace stepcast {

enum class ModulePass { forward, recompute, backward };

/// One entry of stage 3's trace of a micro-batch.
struct ModuleVisit {
  int layer{}, module{};
  ModulePass pass{};
};

/// Modules in the order in which one micro-batch meets them, with their parameters (indices into
/// StepContext::parameters). Full checkpointing meets a block's modules a second time before their backward;
/// what selective checkpointing repeats runs within the backward visit. A tied head needs the embedding's
/// weight too.
struct Stage3Visits {
  std::vector<ModuleVisit> visits;
  std::vector<TracedUse> uses;
};

[[nodiscard]] Stage3Visits stage3_visits(StepContext& context);
[[nodiscard]] FetchTrace stage3_trace(StepContext& context, const Stage3Visits& visits);

}  // namespace stepcast
