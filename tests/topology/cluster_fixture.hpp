#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/cluster.hpp"

namespace stepcast {

inline ClusterRequest request_of(int nodes, const std::string& node, const std::string& fabric,
                                 int gpus_per_node = 0) {
  ClusterRequest request;
  request.nodes = nodes;
  request.node = load_node(node, {});
  request.gpus_per_node = gpus_per_node > 0 ? gpus_per_node : request.node.gpus;
  request.fabric = load_fabric(fabric, {});
  return request;
}

inline std::vector<std::string> names(const Cluster& cluster, const std::vector<int>& links) {
  std::vector<std::string> found;
  for (const int link : links) found.push_back(cluster.link_name(link));
  return found;
}

/// The end of each link is the beginning of the next, from `from` to `to`.
inline bool is_path(const Cluster& cluster, const std::vector<int>& links, int from, int to) {
  int at = from;
  for (const int link : links) {
    if (cluster.links()[static_cast<std::size_t>(link)].from != at) return false;
    at = cluster.links()[static_cast<std::size_t>(link)].to;
  }
  return at == to;
}

/// Links between two switches or a switch and a card, by name: "leaf0 -> spine3" and the share of the flow.
inline std::map<std::string, double> flow_of(const Cluster& cluster, int node, int nic, int peer_node,
                                             int peer_nic) {
  std::map<std::string, double> shares;
  for (const FlowShare& share : cluster.fabric_flow(node, nic, peer_node, peer_nic))
    shares[cluster.link_name(share.link)] += share.share;
  return shares;
}

/// Gb/s of the links from a device to another one; 0 when there is none.
inline double gigabits_between(const Cluster& cluster, const std::string& from, const std::string& to) {
  const int a = cluster.device_named(from), b = cluster.device_named(to);
  double sum = 0;
  for (const Link& link : cluster.links())
    if (link.from == a && link.to == b) sum += link.capacity.value * 8e-9;
  return sum;
}

}  // namespace stepcast
