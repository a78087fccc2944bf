#pragma once

#include <memory>

#include "sim/collective/collective.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// The profile that collectives of the scenario's cluster go by: its GPU's and node's, with the scenario's
/// own profile files laid over them.
/// @throws ScenarioError: what load_profile throws
[[nodiscard]] Profile collective_profile(const Scenario& scenario);

/// How collectives run on the scenario's cluster, all of whose GPUs call together.
/// @throws ScenarioError (place: the node) when no such cluster can be built
[[nodiscard]] std::unique_ptr<CollectiveModel> collective_model(const Scenario& scenario,
                                                                const Profile& profile);

/// All ranks of the cluster in order, as nccl-tests runs them.
[[nodiscard]] Group every_rank(const Cluster& cluster);

}  // namespace stepcast
