#pragma once

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

}  // namespace stepcast
