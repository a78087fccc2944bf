#include "topology/fabric_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace stepcast {
namespace {

/// A well-mixed 64-bit hash (the finalizer of splitmix64, Steele et al. 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

void FabricGraph::place_leaves(const ClusterRequest& request, const std::vector<FabricPort>& ports) {
  int nics_per_node = 0;
  for (const auto& port : ports) nics_per_node = std::max(nics_per_node, port.nic + 1);
  const int down_ports = std::max(1, request.fabric.leaf_ports / 2);
  const int nodes_per_leaf = std::max(1, down_ports / nics_per_node);
  const int leaves_per_node = (nics_per_node + down_ports - 1) / down_ports;
  for (const auto& port : ports) {
    int leaf = 0;
    if (request.topology == "rail-only") {
      leaf = port.nic;
    } else if (request.topology == "rail-optimized") {
      leaf = port.node / down_ports * nics_per_node + port.nic;
    } else if (request.topology != "single-switch") {
      leaf = leaves_per_node > 1 ? port.node * leaves_per_node + port.nic / down_ports
                                 : port.node / nodes_per_leaf;
    }
    leaf_of_.push_back(leaf);
    leaves_ = std::max(leaves_, leaf + 1);
  }
}

FabricGraph::FabricGraph(const ClusterRequest& request, const std::vector<FabricPort>& ports,
                         const std::vector<LinkFault>& /*faults*/, std::vector<Device>& devices,
                         std::vector<Link>& links)
    : hashed_(request.routing == "ecmp") {
  place_leaves(request, ports);
  const BytesPerSecond rate = request.fabric.link_rate;
  const int first_leaf = static_cast<int>(devices.size());
  for (int leaf = 0; leaf < leaves_; ++leaf) {
    devices.push_back({DeviceKind::leaf_switch, -1, leaf, "leaf" + std::to_string(leaf)});
  }
  std::vector<int> members(static_cast<std::size_t>(leaves_), 0);
  first_nic_link_ = static_cast<int>(links.size());
  const Seconds half = request.fabric.link_latency / 2;
  for (std::size_t nic = 0; nic < ports.size(); ++nic) {
    const int leaf = leaf_of_[nic];
    ++members[static_cast<std::size_t>(leaf)];
    links.push_back({LinkKind::nic, ports[nic].device, first_leaf + leaf, ports[nic].rate, half});
    links.push_back({LinkKind::nic, first_leaf + leaf, ports[nic].device, ports[nic].rate, half});
  }
  if (leaves_ < 2 || request.topology == "rail-only") return;

  const double uplinks = *std::max_element(members.begin(), members.end()) / request.oversubscription;
  const bool bundled = request.routing == "spray";
  spines_ = bundled ? 1 : std::max(1, static_cast<int>(std::ceil(uplinks - 1e-9)));
  const int first_spine = static_cast<int>(devices.size());
  for (int spine = 0; spine < spines_; ++spine) {
    devices.push_back(
        {DeviceKind::spine_switch, -1, spine, bundled ? "spines" : "spine" + std::to_string(spine)});
  }
  first_spine_link_ = static_cast<int>(links.size());
  const BytesPerSecond each = (uplinks / spines_) * rate;
  for (int leaf = 0; leaf < leaves_; ++leaf) {
    for (int spine = 0; spine < spines_; ++spine) {
      const int a = first_leaf + leaf;
      const int b = first_spine + spine;
      links.push_back({LinkKind::fabric, a, b, each, request.fabric.switch_latency});
      links.push_back({LinkKind::fabric, b, a, each, request.fabric.switch_latency});
    }
  }
}

int FabricGraph::spine_for(int nic, int peer) const {
  if (!hashed_) return peer % spines_;
  const std::uint64_t pair = (static_cast<std::uint64_t>(nic) << 32U) | static_cast<std::uint64_t>(peer);
  return static_cast<int>(mixed(pair) % static_cast<std::uint64_t>(spines_));
}

std::vector<FlowShare> FabricGraph::flow(int nic, int peer) const {
  std::vector<FlowShare> shares;
  for (const int link : path(nic, peer)) shares.push_back({link, 1.0});
  return shares;
}

std::vector<int> FabricGraph::path(int nic, int peer) const {
  STEPCAST_CHECK(connected(nic, peer), "the two NICs are on rails that do not meet");
  std::vector<int> found{first_nic_link_ + 2 * nic};
  const int leaf = leaf_of(nic);
  const int peer_leaf = leaf_of(peer);
  if (leaf != peer_leaf) {
    const int spine = spine_for(nic, peer);
    found.push_back(first_spine_link_ + 2 * (leaf * spines_ + spine));
    found.push_back(first_spine_link_ + 2 * (peer_leaf * spines_ + spine) + 1);
  }
  found.push_back(first_nic_link_ + 2 * peer + 1);
  return found;
}

}  // namespace stepcast
