#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "sim/collective/collective.hpp"

namespace stepcast::test {

inline ClusterRequest request_of(const std::string& node, int nodes,
                                 const std::string& fabric = "infiniband-400g", int gpus_per_node = 0) {
  ClusterRequest request;
  request.nodes = nodes;
  request.node = load_node(node, {});
  request.gpus_per_node = gpus_per_node > 0 ? gpus_per_node : request.node.gpus;
  request.fabric = load_fabric(fabric, {});
  return request;
}

inline std::shared_ptr<const Cluster> cluster_of(const ClusterRequest& request) {
  return std::make_shared<const Cluster>(request);
}

/// Links that give all they have: bandwidth arithmetic comes out in round numbers.
inline Profile ideal_links(double compute_capability = 9.0) {
  Profile profile;
  profile.links.nvlink_efficiency.value = 1;
  profile.links.nvls_efficiency.value = 0.7;
  profile.links.pcie_efficiency.value = 1;
  profile.links.tree_efficiency.value = 1;
  profile.gpu.compute_capability.value = compute_capability;
  return profile;
}

inline Group all_of(const Cluster& cluster) {
  Group group{std::vector<int>(static_cast<std::size_t>(cluster.gpu_count()))};
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return group;
}

inline CollectiveForce forced(Algorithm algorithm, Protocol protocol = Protocol::simple, int channels = 0) {
  return {algorithm, protocol, channels};
}

/// A payload so large that latencies vanish beside it.
inline constexpr Bytes endless{1e17};

/// Bus bandwidth in the limit of large payloads, GB/s.
inline double plateau(const CollectiveModel& model, Operation operation, const Group& group,
                      const CollectiveForce& force) {
  const auto plan = model.plan(operation, endless, {group}, force);
  return CollectiveModel::bus_bandwidth(operation, endless, static_cast<int>(group.ranks.size()),
                                        plan.time_alone)
             .value /
         1e9;
}

}  // namespace stepcast::test
