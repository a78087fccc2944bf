#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "sim/engine/flow_set.hpp"

namespace stepcast {

struct FlowOptions {
  /// Flows that nothing tells apart are simulated as one (group_flows): the same times, in less time where
  /// thousands are alike and much is shared.
  bool group_alike{};
  const std::atomic<bool>* cancel{};  ///< throws Interrupted
};

struct FlowTimes {
  std::vector<Picoseconds> end;  ///< by flow
  Picoseconds finish{};          ///< the last one's
  std::int64_t events{};         ///< starts and ends of simulated flows
  int simulated_flows{};         ///< fewer than the set's when alike ones were grouped
  int most_at_once{};            ///< simulated flows between first byte and end
};

/// Runs every flow of the set once. A flow starts `latency` after the last of its predecessors has ended (at
/// time 0 without any) and moves at the rate of weighted max-min fairness (fair_share.hpp) among those that
/// move. Deterministic: the same set gives the same times. The clock counts picoseconds; a flow's end is
/// rounded once.
///
/// Only the connected component of flows and resources that starts and ends have touched is solved again,
/// once an instant; a flow that begins at the very moment at which another ends on the same path takes its
/// place at its rate, and nothing is solved.
[[nodiscard]] FlowTimes simulate_flows(const FlowSet& set, const FlowOptions& options = {});

}  // namespace stepcast
