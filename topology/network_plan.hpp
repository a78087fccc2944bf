#pragma once

#include <string>
#include <vector>

#include "topology/cluster.hpp"
#include "topology/fault.hpp"

namespace stepcast {

/// A card's place in the network.
struct FabricPort {
  int node{}, nic{}, device{};
  BytesPerSecond rate;
};

struct NetworkSwitch {
  std::string name;
  DeviceKind kind{};
  int bundle{-1};  ///< in NetworkPlan::bundles: with sprayed packets these switches act as one
};

/// All parallel cables between two switches; the rate is that of one direction.
struct NetworkCable {
  int a{}, b{};
  BytesPerSecond rate;
};

/// The network between nodes as it is cabled, without its cards.
struct NetworkPlan {
  std::vector<NetworkSwitch> switches;
  std::vector<std::string> bundles;
  std::vector<NetworkCable> cables;
  std::vector<int> switch_of;  ///< by port

  int add_switch(DeviceKind kind, std::string name, int bundle = -1);
  int add_bundle(std::string name);
};

/// Weakens cables. A switch stands for all of its cables, a bundle's name for all of its switches.
/// @return what is left of every port's cable, by port
/// @throws std::invalid_argument: no switch bears the name (with the ones that are near), no cable joins two
[[nodiscard]] std::vector<double> damage(NetworkPlan& plan, const std::vector<LinkFault>& faults);

/// The switches of a bundle as one device, with the sum of their cables.
[[nodiscard]] NetworkPlan bundled(const NetworkPlan& plan);

// One builder per family. NICs are given by port; docs/topology.md describes each.

/// single-switch, leaf-spine, fat-tree, rail-optimized, rail-only.
[[nodiscard]] NetworkPlan lay_tree(const ClusterRequest& request, const std::vector<FabricPort>& ports);
/// dragonfly+: groups of leaves and spines (Shpiner et al., "Dragonfly+", HiPINEB 2017).
[[nodiscard]] NetworkPlan lay_dragonfly(const ClusterRequest& request, const std::vector<FabricPort>& ports);
/// torus: a router per node. Router of coordinates (x, y, z): x + X (y + Y z).
[[nodiscard]] NetworkPlan lay_torus(const ClusterRequest& request, const std::vector<FabricPort>& ports);
/// graph: as the fabric file writes it out.
/// @throws std::invalid_argument: a card that the file hangs nowhere
[[nodiscard]] NetworkPlan lay_written(const ClusterRequest& request, const std::vector<FabricPort>& ports);

/// Leaves of a tree or dragonfly: which leaf a port hangs on, and how many belong together.
struct LeafPlaces {
  std::vector<int> leaf_of;  ///< by port
  int leaves{};
  int fullest{};    ///< cards of the fullest leaf
  int unit{1};      ///< leaves that are not parted: those of one node, or of one group of rails
  int most_down{};  ///< cards that a leaf has ports for
};
[[nodiscard]] LeafPlaces place_leaves(const ClusterRequest& request, const std::vector<FabricPort>& ports);

/// Uplinks of a leaf: D / oversubscription cables of a card's rate, as whole cables of equal rate.
struct Uplinks {
  int count{};
  BytesPerSecond each;
};
[[nodiscard]] Uplinks uplinks_of(double down, double oversubscription, BytesPerSecond rate);

}  // namespace stepcast
