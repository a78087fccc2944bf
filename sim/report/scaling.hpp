#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// Points that differ in nothing but the size of the cluster.
struct ScalingGroup {
  std::vector<std::size_t> points;  ///< indices, in the order of the sweep; valid points only
  std::size_t smallest{};           ///< the one with the fewest GPUs (the first of equals)
  bool sizes_differ{};
};

/// Groups the points that exist by all settings but cluster.nodes and cluster.gpus_per_node.
[[nodiscard]] std::vector<ScalingGroup> scaling_groups(const std::vector<ScenarioPoint>& points);

/// `scenario` with the batch per GPU of `smallest` (weak scaling).
[[nodiscard]] Scenario weak_companion(const Scenario& scenario, const Scenario& smallest);

/// `scenario` with the global batch of `smallest` (strong scaling): fewer accumulation steps, or a smaller
/// micro-batch when one step is not enough. Nothing when the batch cannot be divided evenly, or when a
/// measured workload fixes the micro-batch.
[[nodiscard]] std::optional<Scenario> strong_companion(const Scenario& scenario, const Scenario& smallest);

/// Settings of one point with cluster.nodes replaced (or added).
[[nodiscard]] std::vector<std::pair<std::string, Value>> settings_with_nodes(
    std::vector<std::pair<std::string, Value>> settings, int nodes);

/// What tells two scenarios of one file apart: settings without size and batch keys, then size and batch
/// themselves.
[[nodiscard]] std::string signature(const std::vector<std::pair<std::string, Value>>& settings,
                                    const Scenario& scenario);

/// Why `point` does better per GPU than `baseline`: the parts of the step that shrank per sample, largest
/// gain first, with what made them: the plan's notes for work on shards; for communication more NICs per node
/// or another algorithm, where the two differ in it. For efficiency > 1.
[[nodiscard]] std::string reason_for_superlinear(const PointReport& point, const PointReport& baseline);

}  // namespace stepcast
