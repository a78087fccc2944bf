#pragma once

#include <string>
#include <vector>

#include "topology/cluster.hpp"

namespace stepcast {

struct FabricPort {
  int node{}, nic{}, device{};
  BytesPerSecond rate;
};

/// The network between nodes: NICs on leaf switches, leaves on spines. NIC number = node x NICs per node +
/// NIC.
///
/// - single-switch: one leaf of any size.
/// - leaf-spine, fat-tree: a leaf takes leaf_ports / 2 NICs, whole nodes where they fit (two levels in both
/// cases).
/// - rail-optimized: NIC i of leaf_ports / 2 nodes on one leaf, spines above all leaves.
/// - rail-only: NIC i of all nodes on one leaf of any size; no spines, so rails do not meet.
///
/// Uplinks: D = NICs of the fullest leaf, o = oversubscription. With `spray` all spines are one device,
/// "spines", and a leaf has one link to it and one back with D x rate / o: packets spread evenly, so the sum
/// is what counts. With `ecmp` and `static` there are ceil(D / o) spines, each with D x rate / (o x spines)
/// to and from every leaf; ecmp picks one by a hash of the two NICs, static by the number of the receiving
/// NIC modulo the spines (D-mod-K).
class FabricGraph {
 public:
  /// New switches and links are appended to the cluster's.
  FabricGraph(const ClusterRequest& request, const std::vector<FabricPort>& ports,
              const std::vector<LinkFault>& faults, std::vector<Device>& devices, std::vector<Link>& links);
  FabricGraph() = default;

  [[nodiscard]] bool connected(int nic, int peer) const {
    return leaf_of(nic) == leaf_of(peer) || spines_ > 0;
  }
  /// Links from NIC to NIC. Both must be connected.
  [[nodiscard]] std::vector<int> path(int nic, int peer) const;
  [[nodiscard]] std::vector<FlowShare> flow(int nic, int peer) const;

 private:
  [[nodiscard]] int leaf_of(int nic) const { return leaf_of_.at(static_cast<std::size_t>(nic)); }
  void place_leaves(const ClusterRequest& request, const std::vector<FabricPort>& ports);
  [[nodiscard]] int spine_for(int nic, int peer) const;

  std::vector<int> leaf_of_;
  int leaves_{}, spines_{};
  int first_nic_link_{};    ///< NIC number n: up 2n, down 2n + 1
  int first_spine_link_{};  ///< leaf l, spine s: up 2 (l x spines + s), down one more
  bool hashed_{};
};

}  // namespace stepcast
