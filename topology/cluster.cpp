#include "topology/cluster.hpp"

#include <algorithm>
#include <stdexcept>

#include "topology/fabric_graph.hpp"
#include "topology/node_graph.hpp"

namespace stepcast {
namespace {

template <class Words>
void check_word(const std::string& word, const Words& known, const char* what) {
  if (std::find(std::begin(known), std::end(known), word) != std::end(known)) return;
  throw std::invalid_argument(std::string(what) + " \"" + word + "\" is not built");
}

void check(const ClusterRequest& request) {
  const auto demand = [](bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
  };
  demand(request.nodes >= 1, "a cluster needs at least one node");
  demand(request.gpus_per_node >= 1 && request.gpus_per_node <= request.node.gpus,
         "gpus_per_node must be between 1 and the node's GPUs");
  demand(request.node.sockets >= 1, "a node needs at least one socket");
  demand(request.oversubscription >= 1, "oversubscription must be at least 1");
  demand(request.nodes == 1 || request.fabric.link_rate.value > 0, "several nodes need a fabric");
  check_word(request.topology,
             std::initializer_list<const char*>{"single-switch", "leaf-spine", "fat-tree", "rail-optimized",
                                                "rail-only"},
             "topology");
  check_word(request.routing, std::initializer_list<const char*>{"spray", "ecmp", "static"}, "routing");
}

std::vector<NicPlace> nics_of(const ClusterRequest& request) {
  if (!(request.fabric.link_rate.value > 0)) return {};
  return place_nics(request.node, request.gpus_per_node, request.fabric);
}

std::vector<int> shifted(std::vector<int> links, int by) {
  for (int& link : links) link += by;
  return links;
}

}  // namespace

std::string_view name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "nvlink";
    case LinkKind::pcie:
      return "pcie";
    case LinkKind::host:
      return "host";
    case LinkKind::nic:
      return "nic";
    case LinkKind::fabric:
      return "fabric";
  }
  return "unknown";
}

struct Cluster::Implementation {
  explicit Implementation(const ClusterRequest& asked)
      : request((check(asked), asked)), node(request.node, request.gpus_per_node, nics_of(request)) {
    lay_nodes();
    if (wiring().nics > 0) fabric = FabricGraph(request, wiring().nics, nic_devices(), devices, links);
  }

  [[nodiscard]] const NodeWiring& wiring() const { return node.wiring(); }
  [[nodiscard]] int node_size() const { return static_cast<int>(wiring().devices.size()); }
  [[nodiscard]] int node_links() const { return static_cast<int>(wiring().links.size()); }
  [[nodiscard]] bool gpudirect() const { return request.node.gpudirect && request.fabric.gpudirect; }

  void lay_nodes() {
    const auto nodes = static_cast<std::size_t>(request.nodes);
    devices.reserve(nodes * wiring().devices.size());
    links.reserve(nodes * (wiring().links.size() + 2 * static_cast<std::size_t>(wiring().nics)));
    for (int n = 0; n < request.nodes; ++n) {
      const std::string prefix = "node" + std::to_string(n) + ".";
      for (const Device& device : wiring().devices) {
        devices.push_back({device.kind, n, device.index, prefix + device.name});
      }
      const int first = n * node_size();
      for (const Link& link : wiring().links) {
        links.push_back({link.kind, first + link.from, first + link.to, link.capacity, link.latency});
      }
    }
  }

  [[nodiscard]] std::vector<int> nic_devices() const {
    std::vector<int> found;
    for (int n = 0; n < request.nodes; ++n) {
      for (int nic = 0; nic < wiring().nics; ++nic)
        found.push_back(n * node_size() + wiring().first_nic + nic);
    }
    return found;
  }

  /// For pairs without a rule of their own (a host and a switch, say); searched in the graph of the whole
  /// cluster.
  [[nodiscard]] std::vector<int> search_everywhere(int from, int to) const {
    std::call_once(whole_once, [&] {
      whole = std::make_unique<PathSearch>(static_cast<int>(devices.size()), std::span<const Link>(links));
    });
    std::vector<int> found = whole->path(whole->from(from, Reach::bus), to);
    return found.empty() ? whole->path(whole->from(from, Reach::all), to) : found;
  }

  ClusterRequest request;
  NodeGraph node;
  FabricGraph fabric;
  std::vector<Device> devices;
  std::vector<Link> links;
  mutable std::once_flag whole_once;
  mutable std::unique_ptr<PathSearch> whole;
};

Cluster::Cluster(const ClusterRequest& request)
    : implementation_(std::make_unique<Implementation>(request)) {}
Cluster::~Cluster() = default;
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;

const ClusterRequest& Cluster::request() const { return implementation_->request; }
std::span<const Device> Cluster::devices() const { return implementation_->devices; }
std::span<const Link> Cluster::links() const { return implementation_->links; }

std::string Cluster::link_name(int link) const {
  const Link& of = implementation_->links.at(static_cast<std::size_t>(link));
  const auto name = [&](int device) {
    return implementation_->devices.at(static_cast<std::size_t>(device)).name;
  };
  return name(of.from) + " -> " + name(of.to);
}

int Cluster::gpu_count() const { return node_count() * gpus_per_node(); }
int Cluster::gpus_per_node() const { return implementation_->request.gpus_per_node; }
int Cluster::node_count() const { return implementation_->request.nodes; }
int Cluster::nics_per_node() const { return implementation_->wiring().nics; }
bool Cluster::gpudirect() const { return implementation_->gpudirect(); }

int Cluster::gpu_device(int rank) const {
  STEPCAST_CHECK(rank >= 0 && rank < gpu_count(), "no such rank");
  return rank / gpus_per_node() * implementation_->node_size() + rank % gpus_per_node();
}

int Cluster::nic_device(int node, int nic) const {
  STEPCAST_CHECK(node >= 0 && node < node_count() && nic >= 0 && nic < nics_per_node(), "no such NIC");
  return node * implementation_->node_size() + implementation_->wiring().first_nic + nic;
}

int Cluster::host_device(int node, int socket) const {
  const NodeWiring& wiring = implementation_->wiring();
  STEPCAST_CHECK(node >= 0 && node < node_count() && socket >= 0 && socket < wiring.sockets,
                 "no such socket");
  return node * implementation_->node_size() + wiring.first_host + socket;
}

std::vector<int> Cluster::nics_near(int local_rank) const {
  STEPCAST_CHECK(local_rank >= 0 && local_rank < gpus_per_node(), "no such local rank");
  return implementation_->node.nics_near(local_rank);
}

int Cluster::gpu_near_nic(int nic) const { return implementation_->node.gpu_near_nic(nic); }

std::vector<int> Cluster::network_route(int rank, int nic, int peer_rank, int peer_nic) const {
  const Implementation& all = *implementation_;
  STEPCAST_CHECK(rank >= 0 && rank < gpu_count() && peer_rank >= 0 && peer_rank < gpu_count(),
                 "no such rank");
  STEPCAST_CHECK(nic >= 0 && nic < nics_per_node() && peer_nic >= 0 && peer_nic < nics_per_node(),
                 "no such NIC");
  if (all.request.topology == "rail-only") nic = peer_nic;
  const int node = rank / gpus_per_node();
  const int peer_node = peer_rank / gpus_per_node();
  std::vector<int> links =
      shifted(all.node.to_nic(rank % gpus_per_node(), nic, gpudirect()), node * all.node_links());
  const std::vector<int> across =
      all.fabric.path(node * nics_per_node() + nic, peer_node * nics_per_node() + peer_nic);
  links.insert(links.end(), across.begin(), across.end());
  const std::vector<int> arrival = shifted(
      all.node.from_nic(peer_nic, peer_rank % gpus_per_node(), gpudirect()), peer_node * all.node_links());
  links.insert(links.end(), arrival.begin(), arrival.end());
  return links;
}

std::vector<int> Cluster::route(int from, int to) const {
  const Implementation& all = *implementation_;
  const Device& a = all.devices.at(static_cast<std::size_t>(from));
  const Device& b = all.devices.at(static_cast<std::size_t>(to));
  if (from == to) return {};
  if (a.node >= 0 && a.node == b.node) {
    const int first = a.node * all.node_size();
    return shifted(all.node.path(from - first, to - first), a.node * all.node_links());
  }
  if (a.kind == DeviceKind::gpu && b.kind == DeviceKind::gpu) {
    const bool rails = all.request.topology == "rail-only" || all.request.topology == "rail-optimized";
    const int peer_nic = nics_near(b.index).front();
    const int nic = rails ? peer_nic : nics_near(a.index).front();
    return network_route(a.node * gpus_per_node() + a.index, nic, b.node * gpus_per_node() + b.index,
                         peer_nic);
  }
  if (a.kind == DeviceKind::nic && b.kind == DeviceKind::nic) {
    const int nic = a.node * nics_per_node() + a.index;
    const int peer = b.node * nics_per_node() + b.index;
    if (all.fabric.connected(nic, peer)) return all.fabric.path(nic, peer);
  }
  return all.search_everywhere(from, to);
}

int Cluster::nvlink_connections(int local_rank, int peer) const {
  STEPCAST_CHECK(local_rank >= 0 && local_rank < gpus_per_node() && peer >= 0 && peer < gpus_per_node(),
                 "no such local rank");
  return implementation_->wiring().nvlinks[static_cast<std::size_t>(local_rank * gpus_per_node() + peer)];
}

bool Cluster::nvlink_everywhere() const { return implementation_->node.nvlink_everywhere(); }

}  // namespace stepcast
