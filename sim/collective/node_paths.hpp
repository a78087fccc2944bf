#pragma once

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "topology/cluster.hpp"

namespace stepcast {

/// Links of a path inside a node, as places in the pattern that all nodes share (see NodePaths::link).
using LocalPath = std::vector<int>;

/// Way from one leaf to another.
struct FabricPath {
  std::vector<int> links;  ///< between switches
  int further_switches{};  ///< beyond the first leaf
};

/// Paths of a cluster whose nodes are all alike: found once on the first node and carried over to the others,
/// so that the cost of a collective over thousands of nodes is that of adding up its loads.
class NodePaths {
 public:
  explicit NodePaths(const Cluster& cluster);

  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  /// Link of node `node` at place `place` of the common pattern.
  [[nodiscard]] int link(int node, int place) const {
    return links_[static_cast<std::size_t>(node)][static_cast<std::size_t>(place)];
  }

  /// Between two GPUs of a node.
  [[nodiscard]] const LocalPath& between(int local_rank, int peer) const;
  /// From a GPU out to a NIC and back in; through host memory without GPUDirect. Needs two nodes.
  [[nodiscard]] const LocalPath& to_nic(int local_rank, int nic) const;
  [[nodiscard]] const LocalPath& from_nic(int nic, int local_rank) const;
  /// NVLinks of a GPU to (first) and from (second) the switches of its node; empty without NVSwitch.
  [[nodiscard]] const std::pair<LocalPath, LocalPath>& switch_links(int local_rank) const;

  [[nodiscard]] bool all_nvlink(const LocalPath& path) const;
  [[nodiscard]] bool any_nvlink(const LocalPath& path) const;
  [[nodiscard]] bool through_host(const LocalPath& path) const;

  /// The NICs that carry a GPU's traffic: those that it feeds, else the nearest one.
  [[nodiscard]] const std::vector<int>& nics_of(int local_rank) const;

  [[nodiscard]] int nic_up(int node, int nic) const;    ///< link from NIC to leaf
  [[nodiscard]] int nic_down(int node, int nic) const;  ///< link from leaf to NIC
  [[nodiscard]] const FabricPath& fabric(int node, int nic, int peer_node, int peer_nic) const;

  /// GPUs and NICs both allow NICs to read GPU memory.
  [[nodiscard]] bool gpudirect() const;
  /// NIC i of every node hangs on a switch of its own.
  [[nodiscard]] bool rails() const;

 private:
  [[nodiscard]] std::size_t nic_place(int node, int nic) const;
  [[nodiscard]] LocalPath places(const std::vector<int>& route, int node) const;
  void number_links();
  void find_nic_links();

  const Cluster& cluster_;
  std::vector<std::vector<int>> links_;  ///< by node and place
  std::vector<int> place_of_;            ///< by link; -1 for links that leave their node
  std::vector<std::pair<LocalPath, LocalPath>> switch_links_;
  std::vector<int> nic_up_, nic_down_;  ///< by node * nics_per_node + nic; -1 where absent
  mutable std::map<int, std::vector<int>> nics_of_;
  mutable std::map<std::pair<int, int>, LocalPath> between_, to_nic_, from_nic_;
  mutable std::map<std::pair<int, int>, FabricPath> fabric_;  ///< by leaves (spray), else by NIC links
};

}  // namespace stepcast
