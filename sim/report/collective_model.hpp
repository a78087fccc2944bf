#pragma once

#include <functional>
#include <memory>

#include "sim/collective/collective.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// The profile that collectives of the scenario's cluster go by: its GPU's and node's, with the scenario's
/// own profile files laid over them.
/// @throws ScenarioError: what load_profile throws
[[nodiscard]] Profile collective_profile(const Scenario& scenario);

/// The scenario's cluster.
/// @throws ScenarioError (place: the node) when no such cluster can be built
[[nodiscard]] std::shared_ptr<const Cluster> build_cluster(const Scenario& scenario);

/// How collectives run on the scenario's cluster. `profile_of` gives the profile of a node type; NCCL goes by
/// the oldest GPU of them.
[[nodiscard]] std::unique_ptr<CollectiveModel> collective_model(
    const Scenario& scenario, std::shared_ptr<const Cluster> cluster,
    const std::function<const Profile&(const NodeSpec&)>& profile_of);

/// Both at once, with the shipped and the scenario's own profiles.
/// @param profile  of the scenario's own node
[[nodiscard]] std::unique_ptr<CollectiveModel> collective_model(const Scenario& scenario,
                                                                const Profile& profile);

/// All ranks of the cluster in order, as nccl-tests runs them.
[[nodiscard]] Group every_rank(const Cluster& cluster);

}  // namespace stepcast
