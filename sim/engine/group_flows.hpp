#pragma once

#include <vector>

#include "sim/engine/flow_set.hpp"

namespace stepcast {

struct GroupedFlows {
  FlowSet set;                ///< one flow for each group, one resource for each group of resources
  std::vector<int> group_of;  ///< by flow of the original set: its flow in `set`
};

/// Groups flows that nothing tells apart, and so end together: equal size, latency and rate alone,
/// predecessors of the same groups, and the same weights on resources of the same groups, where resources
/// are of one group when they have one capacity and the flows of each group put the same weights on them.
/// (Colour refinement: start with sizes and capacities, split until nothing splits.) Exact, whatever the
/// flows do later.
///
/// Colours are 128-bit hashes; that two unlike flows of a million share one has a chance of about 1e-26.
[[nodiscard]] GroupedFlows group_flows(const FlowSet& set);

}  // namespace stepcast
