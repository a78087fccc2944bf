#include "sim/collective/group_shape.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/diagnostic.hpp"

namespace stepcast {

int GroupShape::per_node() const {
  std::size_t most = 0;
  for (const auto& node : nodes) most = std::max(most, node.locals.size());
  return static_cast<int>(most);
}

GroupShape shape_of(const Group& group, const Cluster& cluster) {
  STEPCAST_CHECK(!group.ranks.empty(), "a communicator without ranks");
  GroupShape shape;
  shape.ranks = static_cast<int>(group.ranks.size());
  std::unordered_map<int, std::size_t> place_of;
  for (const int rank : group.ranks) {
    STEPCAST_CHECK(rank >= 0 && rank < cluster.gpu_count(), "a rank outside of the cluster");
    const int node = rank / cluster.gpus_per_node();
    const auto [entry, fresh] = place_of.try_emplace(node, shape.nodes.size());
    if (fresh) shape.nodes.push_back({node, {}});
    shape.nodes[entry->second].locals.push_back(rank % cluster.gpus_per_node());
  }
  return shape;
}

}  // namespace stepcast
