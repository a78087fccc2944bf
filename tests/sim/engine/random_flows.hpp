#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/engine/detail/random.hpp"
#include "sim/engine/fair_share.hpp"
#include "sim/engine/flow_set.hpp"

namespace stepcast::test {

/// A set of flows in the plainest form.
struct PlainFlows {
  struct Flow {
    std::vector<Load> loads;
    double ceiling{}, bytes{};
    Picoseconds latency{};
    std::vector<int> after, behind;
  };
  std::vector<Resource> resources;
  std::vector<Flow> flows;

  [[nodiscard]] FlowSet set() const {
    FlowSet result(resources);
    for (const Flow& flow : flows)
      result.add_flow(result.add_path(flow.loads, flow.ceiling), flow.bytes, flow.latency, flow.after,
                      flow.behind);
    return result;
  }
};

inline int below(detail::SplitMix64& random, int n) {
  return static_cast<int>(random.next() % static_cast<std::uint64_t>(n));
}

/// Weights from 1e-4 to 3, some flows with a ceiling, some without a byte, up to three predecessors each.
inline PlainFlows random_flows(detail::SplitMix64& random) {
  PlainFlows result;
  for (int r = 0, n = 1 + below(random, 10); r < n; ++r)
    result.resources.push_back({1e9 * (0.1 + 100 * random.uniform()), r, 1});
  for (int f = 0, n = 1 + below(random, 40); f < n; ++f) {
    PlainFlows::Flow flow;
    for (int r = 0; r < static_cast<int>(result.resources.size()); ++r) {
      const double weight = below(random, 4) == 0 ? 1e-4 + random.uniform() : 0.1 + 3 * random.uniform();
      if (below(random, 3) == 0) flow.loads.push_back({r, weight});
    }
    if (flow.loads.empty() || below(random, 3) == 0) flow.ceiling = 2e10 * (0.01 + random.uniform());
    flow.bytes = below(random, 8) == 0 ? 0 : 1e6 * random.uniform();
    flow.latency = below(random, 2) == 0 ? 0 : below(random, 50'000'000);
    for (int p = 0; p < 3 && f > 0; ++p)
      if (below(random, 3) == 0)
        (below(random, 3) == 0 ? flow.behind : flow.after).push_back(below(random, f));
    result.flows.push_back(flow);
  }
  return result;
}

/// Whether no resource carries more than its capacity and every rate has its max-min certificate: the flow
/// is as fast as it is alone, or crosses a full resource on which no one has a higher level (rate / rate
/// alone). Empty when all holds.
inline std::string fault_of(const std::vector<Resource>& resources, const std::vector<Demand>& demands,
                            const std::vector<double>& rates) {
  std::vector<double> used(resources.size(), 0), highest(resources.size(), 0), level(demands.size());
  for (std::size_t d = 0; d < demands.size(); ++d) {
    double alone = demands[d].ceiling > 0 ? demands[d].ceiling : 1e300;
    for (const Load& load : demands[d].loads)
      alone = std::min(alone, resources[load.resource].capacity / load.weight);
    level[d] = rates[d] / alone;
    for (const Load& load : demands[d].loads) {
      used[load.resource] += load.weight * rates[d];
      highest[load.resource] = std::max(highest[load.resource], level[d]);
    }
  }
  constexpr double rounding = 1e-9;
  for (std::size_t r = 0; r < resources.size(); ++r)
    if (used[r] > resources[r].capacity * (1 + rounding)) return "too much on resource " + std::to_string(r);
  for (std::size_t d = 0; d < demands.size(); ++d) {
    const bool held = std::any_of(demands[d].loads.begin(), demands[d].loads.end(), [&](const Load& load) {
      const auto r = static_cast<std::size_t>(load.resource);
      return used[r] >= resources[r].capacity * (1 - rounding) && highest[r] <= level[d] * (1 + rounding);
    });
    if (level[d] < 1 - rounding && !held) return "nothing holds flow " + std::to_string(d);
    if (level[d] > 1 + rounding) return "faster than alone: flow " + std::to_string(d);
  }
  return "";
}

}  // namespace stepcast::test
