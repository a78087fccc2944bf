#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "sim/collective/link_loads.hpp"

namespace stepcast {

/// Part of a message between GPUs of two nodes.
struct NetworkWay {
  int sender{};  ///< local rank that hands it to the card: the GPU itself, or on rails its neighbour there
  int nic{}, peer_nic{};
  double share{};
};

/// A message is spread over the NICs of the receiver and goes out by those of the sender; with rails the
/// sender hands over to its neighbour on the receiver's rail.
[[nodiscard]] std::vector<NetworkWay> network_ways(const NodePaths& paths, int node, int local_rank,
                                                   int peer_node, int peer);

/// Weights of one call while they add up.
struct LinkLoads::Sum {
  Sum(const NodePaths& node_paths, std::vector<double>& zeros) : paths(node_paths), weights(zeros) {
    weights.resize(node_paths.cluster().links().size());
  }

  /// What is added from here on belongs to this message, where messages are asked for.
  void begin(int node, int local, int peer_node, int peer, double weight, int lane = 0, int tree = -1,
             bool down = false) {
    if (messages == nullptr) return;
    const int per_node = paths.cluster().gpus_per_node();
    messages->push_back({node * per_node + local, peer_node * per_node + peer, lane, tree, down, weight, {}});
  }
  void add_link(int link, double weight) {
    if (messages != nullptr && !messages->empty()) messages->back().loads.push_back({link, weight});
    double& sum = weights[static_cast<std::size_t>(link)];
    if (sum == 0) touched.push_back(link);
    sum += weight;
  }
  void add(int node, const LocalPath& path, double weight) {
    for (const int place : path) add_link(paths.link(node, place), weight);
  }
  /// The sums by link, and zeros again for the next call.
  std::vector<LinkLoad> take() {
    std::sort(touched.begin(), touched.end());
    std::vector<LinkLoad> loads;
    loads.reserve(touched.size());
    for (const int link : touched) {
      double& sum = weights[static_cast<std::size_t>(link)];
      if (sum > 0) loads.push_back({link, sum});
      sum = 0;
    }
    touched.clear();
    return loads;
  }
  void add_fabric(int node, int nic, int peer_node, int peer_nic, double weight) {
    const FabricPath& fabric = paths.fabric(node, nic, peer_node, peer_nic);
    add_link(paths.nic_up(node, nic), weight);
    add_link(paths.nic_down(peer_node, peer_nic), weight);
    for (const FlowShare& way : fabric.links) add_link(way.link, way.share * weight);
    switches += fabric.further_switches;
    ++crossings;
  }
  /// From one GPU's door to another's; where those are on rails that do not meet, on the receiver's rail,
  /// else on the sender's, else on any that both nodes have.
  void add_network(int node, int local, int nic, int peer_node, int peer_nic, int peer, double weight) {
    std::tie(nic, peer_nic) = paths.doors(node, nic, peer_node, peer_nic);
    add(node, paths.to_nic(node, local, nic), weight);
    add_fabric(node, nic, peer_node, peer_nic, weight);
    add(peer_node, paths.from_nic(peer_node, peer_nic, peer), weight);
  }
  /// Over all ways of network_ways, or inside the node.
  void add_message(int node, int local, int peer_node, int peer, double weight) {
    begin(node, local, peer_node, peer, weight);
    if (node == peer_node) {
      add(node, paths.between(node, local, peer), weight);
      return;
    }
    for (const NetworkWay& way : network_ways(paths, node, local, peer_node, peer)) {
      if (way.sender != local) add(node, paths.between(node, local, way.sender), way.share * weight);
      add_network(node, way.sender, way.nic, peer_node, way.peer_nic, peer, way.share * weight);
    }
  }

  const NodePaths& paths;
  std::vector<double>& weights;
  std::vector<int> touched;
  std::vector<Message>* messages{};
  double switches{};
  double crossings{};
};

}  // namespace stepcast
