#include "topology/node_wiring.hpp"

#include <algorithm>

#include "topology/graph_wiring.hpp"

namespace stepcast {
namespace {

int socket_of_gpu(const NodeSpec& node, int gpu) { return gpu * node.sockets / std::max(1, node.gpus); }

void join(NodeWiring& wiring, LinkKind kind, int a, int b, BytesPerSecond rate) {
  if (!(rate.value > 0)) return;
  wiring.links.push_back({kind, a, b, rate, Seconds{}});
  wiring.links.push_back({kind, b, a, rate, Seconds{}});
}

int add_devices(NodeWiring& wiring, DeviceKind kind, int count, const char* name) {
  const int first = static_cast<int>(wiring.devices.size());
  for (int i = 0; i < count; ++i) wiring.devices.push_back({kind, 0, i, name + std::to_string(i)});
  return first;
}

void wire_nvlink(NodeWiring& wiring, const NodeSpec& node) {
  const auto connect = [&](int a, int b, int links) {
    wiring.nvlinks[static_cast<std::size_t>(a * wiring.gpus + b)] += links;
    wiring.nvlinks[static_cast<std::size_t>(b * wiring.gpus + a)] += links;
  };
  if (node.nvlink == NodeSpec::Nvlink::mesh) {
    for (const NvlinkPair& pair : node.nvlink_mesh) {
      if (pair.first >= wiring.gpus || pair.second >= wiring.gpus) continue;  // a GPU that is not in use
      join(wiring, LinkKind::nvlink, pair.first, pair.second, pair.links * node.nvlink_rate_per_link);
      connect(pair.first, pair.second, pair.links);
    }
  }
  if (wiring.nvswitch < 0) return;
  for (int gpu = 0; gpu < wiring.gpus; ++gpu) {
    join(wiring, LinkKind::nvlink, gpu, wiring.nvswitch,
         node.nvlink_links_per_gpu * node.nvlink_rate_per_link);
    for (int peer = 0; peer < gpu; ++peer) connect(gpu, peer, node.nvlink_links_per_gpu);
  }
}

void wire_bus(NodeWiring& wiring, const NodeSpec& node, const std::vector<NicPlace>& nics) {
  const int per_switch = node.gpus_per_pcie_switch;
  for (int s = 0; s < wiring.pcie_switches; ++s) {
    const int host = wiring.first_host + socket_of_gpu(node, s * per_switch);
    join(wiring, LinkKind::pcie, wiring.first_pcie_switch + s, host, node.pcie_rate);
  }
  for (int gpu = 0; gpu < wiring.gpus; ++gpu) {
    const int host = wiring.first_host + wiring.gpu_socket[static_cast<std::size_t>(gpu)];
    if (node.host_device) {
      join(wiring, LinkKind::host, gpu, host, node.host_memory_rate);
    } else if (wiring.pcie_switches > 0) {
      join(wiring, LinkKind::pcie, gpu, wiring.first_pcie_switch + gpu / per_switch, node.pcie_rate);
    } else {
      join(wiring, LinkKind::pcie, gpu, host,
           node.host_link_rate.value > 0 ? node.host_link_rate : node.pcie_rate);
    }
  }
  for (int nic = 0; nic < wiring.nics; ++nic) {
    const NicPlace& place = nics[static_cast<std::size_t>(nic)];
    const bool on_switch = place.gpu >= 0 && wiring.pcie_switches > 0;
    const int parent =
        on_switch ? wiring.first_pcie_switch + place.gpu / per_switch : wiring.first_host + place.socket;
    join(wiring, LinkKind::pcie, parent, wiring.first_nic + nic, node.pcie_rate);
  }
  const int board = node.sockets_per_board > 0 ? node.sockets_per_board : node.sockets;
  for (int a = 0; a < node.sockets; ++a) {
    for (int b = a + 1; b < node.sockets && b / board == a / board; ++b) {
      join(wiring, LinkKind::host, wiring.first_host + a, wiring.first_host + b, node.socket_rate);
    }
  }
}

}  // namespace

std::vector<NicPlace> place_nics(const NodeSpec& node, int gpus_used, const FabricSpec& fabric) {
  if (!node.wires.empty()) return place_graph_nics(node, gpus_used, fabric);
  std::vector<NicPlace> places;
  if (fabric.transport == Transport::ethernet) {
    const int count = std::max(1, fabric.nics_per_node);
    for (int nic = 0; nic < count; ++nic) places.push_back({-1, nic * node.sockets / count});
    return places;
  }
  std::vector<int> near;
  for (const int gpu : node.nic_gpu) {
    if (gpu < gpus_used) near.push_back(gpu);
  }
  const int count =
      fabric.nics_per_node > 0 ? fabric.nics_per_node : std::max(1, static_cast<int>(near.size()));
  if (near.empty()) {
    for (int gpu = 0; gpu < gpus_used; ++gpu) near.push_back(gpu);
  }
  for (int nic = 0; nic < count; ++nic) {
    const auto at = static_cast<std::size_t>(nic) * near.size() / static_cast<std::size_t>(count);
    places.push_back({near[at], socket_of_gpu(node, near[at])});
  }
  return places;
}

NodeWiring wire_node(const NodeSpec& node, int gpus_used, const std::vector<NicPlace>& nics) {
  if (!node.wires.empty()) return wire_graph(node, gpus_used, nics);
  NodeWiring wiring;
  wiring.gpus = gpus_used;
  wiring.sockets = node.sockets;
  wiring.nics = static_cast<int>(nics.size());
  const int per_switch = node.gpus_per_pcie_switch;
  wiring.pcie_switches = per_switch > 0 && !node.host_device ? (gpus_used + per_switch - 1) / per_switch : 0;
  add_devices(wiring, DeviceKind::gpu, gpus_used, "gpu");
  if (node.nvlink == NodeSpec::Nvlink::fabric_switch) {
    wiring.nvswitch = add_devices(wiring, DeviceKind::nvswitch, 1, "nvswitch");
  }
  wiring.first_pcie_switch = add_devices(wiring, DeviceKind::pcie_switch, wiring.pcie_switches, "pcie");
  wiring.first_host = add_devices(wiring, DeviceKind::host, node.sockets, "host");
  wiring.first_nic = add_devices(wiring, DeviceKind::nic, wiring.nics, "nic");
  for (int gpu = 0; gpu < gpus_used; ++gpu) {
    const int lead = wiring.pcie_switches > 0 ? gpu / per_switch * per_switch : gpu;
    wiring.gpu_socket.push_back(socket_of_gpu(node, lead));
  }
  wiring.nvlinks.assign(static_cast<std::size_t>(gpus_used * gpus_used), 0);
  wire_nvlink(wiring, node);
  wire_bus(wiring, node, nics);
  return wiring;
}

}  // namespace stepcast
