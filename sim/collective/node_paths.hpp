#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "topology/cluster.hpp"

namespace stepcast {

/// Links of a path inside a node, as places in the pattern that all nodes of its class share (see
/// NodePaths::link).
using LocalPath = std::vector<int>;

/// Ways from one NIC to another: what crosses the network besides their own cables.
struct FabricPath {
  std::vector<FlowShare> links;  ///< between switches
  double further_switches{};     ///< beyond the first leaf, in the mean
};

/// Paths of a cluster, found once for each class of nodes that are alike (Cluster::node_class) and carried
/// over to all of them, so that the cost of a collective over thousands of nodes is that of adding up its
/// loads.
class NodePaths {
 public:
  explicit NodePaths(const Cluster& cluster);

  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  /// Link of node `node` at place `place` of the pattern of its class.
  [[nodiscard]] int link(int node, int place) const { return cluster_.first_link(node) + place; }

  /// Between two GPUs of a node.
  [[nodiscard]] const LocalPath& between(int node, int local_rank, int peer) const;
  /// From a GPU out to a NIC and back in; through host memory without GPUDirect. Needs two nodes.
  [[nodiscard]] const LocalPath& to_nic(int node, int local_rank, int nic) const;
  [[nodiscard]] const LocalPath& from_nic(int node, int nic, int local_rank) const;
  /// NVLinks of a GPU to (first) and from (second) the switches of its node; empty without NVSwitch.
  [[nodiscard]] const std::pair<LocalPath, LocalPath>& switch_links(int node, int local_rank) const;

  [[nodiscard]] bool all_nvlink(int node, const LocalPath& path) const;
  [[nodiscard]] bool any_nvlink(int node, const LocalPath& path) const;
  [[nodiscard]] bool through_host(int node, const LocalPath& path) const;

  /// The NICs that carry a GPU's traffic: the living ones that it feeds, else the nearest one.
  [[nodiscard]] const std::vector<int>& nics_of(int node, int local_rank) const;
  /// True when the node has this card and it lives.
  [[nodiscard]] bool has_nic(int node, int nic) const;
  /// What the NIC's cable carries.
  [[nodiscard]] BytesPerSecond nic_rate(int node, int nic) const;

  [[nodiscard]] int nic_up(int node, int nic) const;    ///< link from NIC to leaf
  [[nodiscard]] int nic_down(int node, int nic) const;  ///< link from leaf to NIC
  /// The two cards where the network leads from one to the other; else a pair near them for which it does.
  /// @throws std::invalid_argument when no card of the one node reaches one of the other
  [[nodiscard]] std::pair<int, int> doors(int node, int nic, int peer_node, int peer_nic) const;
  [[nodiscard]] const FabricPath& fabric(int node, int nic, int peer_node, int peer_nic) const;

  /// GPUs and NICs both allow NICs to read GPU memory, on all nodes.
  [[nodiscard]] bool gpudirect() const;
  /// NIC i of every node hangs on a switch of its own.
  [[nodiscard]] bool rails() const;

 private:
  using Ends = std::tuple<int, int, int>;  ///< class of nodes and two numbers in it
  [[nodiscard]] int class_of(int node) const { return cluster_.node_class(node); }
  [[nodiscard]] LocalPath places(const std::vector<int>& route, int node) const;
  [[nodiscard]] LocalPath crossing(int node, int local_rank, int nic, bool out) const;
  void find_switch_links(int node);
  void find_nic_links();

  const Cluster& cluster_;
  std::vector<std::vector<std::pair<LocalPath, LocalPath>>> switch_links_;  ///< by class and local rank
  std::vector<int> first_nic_;                                              ///< by node
  std::vector<int> nic_up_, nic_down_;  ///< by first_nic_[node] + NIC; -1 where absent
  mutable std::map<std::pair<int, int>, std::vector<int>> nics_of_;
  mutable std::map<Ends, LocalPath> between_, to_nic_, from_nic_;
  mutable std::map<std::pair<int, int>, FabricPath> fabric_;  ///< by leaves (spray), else by NIC links
};

}  // namespace stepcast
