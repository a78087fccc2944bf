#pragma once

#include <vector>

namespace stepcast {

/// Forward, recomputation or backward of one module: what DeepSpeed's parameter coordinator sees in its
/// trace.
struct TracedUse {
  std::vector<int> parameters;
};

struct FetchSettings {
  double prefetch_bucket{5e7};        ///< elements
  double persistence_threshold{1e5};  ///< parameters up to this are never released
  double max_live{1e9};
  double max_reuse_distance{1e9};
};

/// An all-gather of several parameters in one call.
struct FetchCall {
  std::vector<int> parameters;
  double elements{};
};

/// What happens at one use, in this order: `fetch` is issued (when not empty), the module waits for call
/// `awaited` and, in order, all before it, `prefetch` is issued, the module runs.
struct FetchStep {
  int fetch{-1}, prefetch{-1};  ///< indices in FetchTrace::calls; -1: none
  int awaited{-1};  ///< the last call that brings one of its parameters; -1: all were there and waited for
  double live{};    ///< elements that are gathered or on their way after the prefetch, persistent ones aside
};

struct FetchTrace {
  std::vector<FetchStep> steps;  ///< one for each use
  std::vector<FetchCall> calls;  ///< in the order of issue
  double peak_live{};
};

/// One micro-batch (DeepSpeed's "step" of the trace) with a complete trace, i.e. from the third iteration on
/// (facts 3.3): parameters needed now are gathered in one call; then up to prefetch_bucket elements of the
/// trace's next parameters; a used parameter is released unless a module less than max_reuse_distance
/// elements ahead needs it (I20); max_live bounds prefetching only. Parameters up to the threshold are in no
/// call (I24). Source: runtime/zero/partitioned_param_coordinator.py: fetch_sub_module, release_sub_module,
/// __params_to_release.
[[nodiscard]] FetchTrace trace_fetches(const std::vector<TracedUse>& uses,
                                       const std::vector<double>& elements, const FetchSettings& settings);

}  // namespace stepcast
