#pragma once

#include <vector>

#include "sim/collective/node_paths.hpp"

namespace stepcast {

/// One ring's way through a node.
struct Lane {
  int nic{-1};  ///< through which it comes and goes; -1 where the group stays on the node
  std::vector<int>
      order;  ///< local ranks from the one that receives from the NIC to the one that sends to it
};

/// The lanes of the group members on node `node`. NCCL's channels are dealt out over them evenly.
///
/// Inside one node: a ring (closed) in the given order; on an NVLink mesh the disjoint cycles that its links
/// allow, each in both directions. Across nodes: one lane per NIC that the members use (NodePaths::nics_of),
/// entered at the member nearest to it; it leaves from another member beneath the same PCIe switch, else from
/// one that hands over to the NIC's GPU by NVLink (PXN), else through the host. All lanes go at one pace, so
/// that slow NICs are left out where the others carry more without them: the k fastest, k times the slowest
/// of them being greatest (the aim of NCCL's search, which maximizes channels times speed).
[[nodiscard]] std::vector<Lane> node_lanes(const NodePaths& paths, int node, const std::vector<int>& members,
                                           bool across_nodes);

}  // namespace stepcast
