#pragma once

#include <vector>

#include "sim/collective/collective.hpp"
#include "topology/cluster.hpp"

namespace stepcast {

/// The ranks of one communicator that live on one node, in communicator order.
struct NodeMembers {
  int node{};
  std::vector<int> locals;  ///< local ranks
};

/// How a communicator lies on the cluster; nodes in the order in which the communicator meets them.
struct GroupShape {
  int ranks{};
  std::vector<NodeMembers> nodes;

  [[nodiscard]] int node_count() const { return static_cast<int>(nodes.size()); }
  /// Ranks on the fullest node; NCCL's p is ranks / nodes, which is the same number on regular groups.
  [[nodiscard]] int per_node() const;
};

/// @throws InternalError for an empty group or a rank that the cluster does not have.
[[nodiscard]] GroupShape shape_of(const Group& group, const Cluster& cluster);

}  // namespace stepcast
