#include "topology/cluster.hpp"

#include <algorithm>
#include <map>
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

void check_torus(const ClusterRequest& request) {
  std::int64_t routers = request.torus.empty() ? 0 : 1;
  std::string sizes;
  for (const int size : request.torus) {
    routers *= size;
    sizes += (sizes.empty() ? "" : " x ") + std::to_string(size);
  }
  if (routers != request.nodes)
    throw std::invalid_argument("a torus of " + (sizes.empty() ? "no size" : sizes) + " has " +
                                std::to_string(routers) + " routers, one per node, not " +
                                std::to_string(request.nodes));
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
  demand(request.core_oversubscription >= 1, "core_oversubscription must be at least 1");
  check_word(request.topology,
             std::initializer_list<const char*>{"single-switch", "leaf-spine", "fat-tree", "rail-optimized",
                                                "rail-only", "dragonfly+", "torus", "graph"},
             "topology");
  demand(request.topology != "graph" || request.fabric.graph,
         "topology \"graph\" needs a fabric file with [graph]");
  if (request.topology == "torus") check_torus(request);
  check_word(request.routing, std::initializer_list<const char*>{"spray", "ecmp", "static"}, "routing");
}

/// Nodes that are alike, and how.
struct NodeClass {
  int group{-1};  ///< in request.node_groups; -1: the cluster's own node
  std::vector<LinkFault> faults;
  std::unique_ptr<NodeGraph> graph;
  BytesPerSecond nic_rate;

  [[nodiscard]] bool is(int of_group, const std::vector<LinkFault>& with) const {
    return group == of_group && std::equal(faults.begin(), faults.end(), with.begin(), with.end(),
                                           [](const LinkFault& a, const LinkFault& b) {
                                             return a.at == b.at && a.remaining == b.remaining;
                                           });
  }
};

int group_of_node(const ClusterRequest& request, int node) {
  for (std::size_t g = 0; g < request.node_groups.size(); ++g) {
    const NodeGroup& group = request.node_groups[g];
    if (node >= group.first && node < group.first + group.count) return static_cast<int>(g);
  }
  return -1;
}

/// The damage of every node, by its local names; what is left is the network's. "node1.nic0 - leaf0" is the
/// cable of node1.nic0.
std::vector<LinkFault> sort_faults(const ClusterRequest& request,
                                   std::map<int, std::vector<LinkFault>>& of_node) {
  std::vector<LinkFault> of_network;
  for (const LinkFault& fault : request.faults) {
    const FaultEnds ends = ends_of(fault.at);
    const auto first = node_part_of(ends.first), second = node_part_of(ends.second);
    if (!first && !second) {
      of_network.push_back(fault);
      continue;
    }
    const NodePart& part = first ? *first : *second;
    if (part.node >= request.nodes) continue;
    if (first && second && first->node != second->node)
      throw std::invalid_argument("no link joins " + ends.first + " and " + ends.second);
    const bool both = first && second;
    of_node[part.node].push_back({both ? first->part + " - " + second->part : part.part, fault.remaining});
  }
  return of_network;
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

const NodeSpec& ClusterRequest::node_at(int index) const {
  const int group = group_of_node(*this, index);
  return group < 0 ? node : node_groups[static_cast<std::size_t>(group)].node;
}

struct Cluster::Implementation {
  explicit Implementation(const ClusterRequest& asked) : request((check(asked), asked)) {
    std::map<int, std::vector<LinkFault>> of_node;
    const std::vector<LinkFault> of_network = sort_faults(request, of_node);
    for (int node = 0; node < request.nodes; ++node) class_of.push_back(find_class(node, of_node[node]));
    lay_nodes();
    if (classes.front().graph->wiring().nics > 0)
      fabric = FabricGraph(request, ports(), of_network, devices, links);
    else if (!of_network.empty())
      throw std::invalid_argument("there is no network, so nothing at \"" + of_network.front().at + "\"");
  }

  [[nodiscard]] const NodeClass& of(int node) const {
    return classes[static_cast<std::size_t>(class_of.at(static_cast<std::size_t>(node)))];
  }
  [[nodiscard]] const NodeGraph& graph(int node) const { return *of(node).graph; }
  [[nodiscard]] const NodeWiring& wiring(int node) const { return graph(node).wiring(); }
  [[nodiscard]] int first_device(int node) const { return first_devices[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int first_link(int node) const { return first_links[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int port(int node, int nic) const {
    return first_ports[static_cast<std::size_t>(node)] + nic;
  }
  [[nodiscard]] bool gpudirect(int node) const {
    return request.node_at(node).gpudirect && request.fabric.gpudirect;
  }

  int find_class(int node, const std::vector<LinkFault>& faults) {
    const int group = group_of_node(request, node);
    for (std::size_t c = 0; c < classes.size(); ++c)
      if (classes[c].is(group, faults)) return static_cast<int>(c);
    NodeClass& made = classes.emplace_back();
    made.group = group;
    made.faults = faults;
    FabricSpec network = request.fabric;
    if (group >= 0) {
      const NodeGroup& own = request.node_groups[static_cast<std::size_t>(group)];
      if (own.link_rate) network.link_rate = *own.link_rate;
      if (own.nics_per_node) network.nics_per_node = *own.nics_per_node;
    }
    made.nic_rate = network.link_rate;
    const NodeSpec& spec = request.node_at(node);
    const std::string name = "node" + std::to_string(node);
    if (request.gpus_per_node > spec.gpus)
      throw std::invalid_argument(name + " (" + spec.name + ") has " + std::to_string(spec.gpus) +
                                  " GPUs, not " + std::to_string(request.gpus_per_node) + " as the others");
    const bool networked = request.fabric.link_rate.value > 0;
    const auto cards = networked ? place_nics(spec, request.gpus_per_node, network) : std::vector<NicPlace>{};
    try {
      made.graph = std::make_unique<NodeGraph>(spec, request.gpus_per_node, cards, faults);
    } catch (const std::invalid_argument& fault) {
      throw std::invalid_argument(name + ": " + fault.what());
    }
    for (int gpu = 1; gpu < request.gpus_per_node && !faults.empty(); ++gpu)
      if (made.graph->path(0, gpu).empty() || made.graph->path(gpu, 0).empty())
        throw std::invalid_argument(name + ": no way is left between gpu0 and gpu" + std::to_string(gpu));
    if (request.nodes > 1 && made.graph->nics_near(0).empty())
      throw std::invalid_argument(name + " has no network card left");
    return static_cast<int>(classes.size()) - 1;
  }

  void lay_nodes() {
    int ports_so_far = 0;
    for (int n = 0; n < request.nodes; ++n) {
      const std::string prefix = "node" + std::to_string(n) + ".";
      const int first = static_cast<int>(devices.size());
      first_devices.push_back(first);
      first_links.push_back(static_cast<int>(links.size()));
      first_ports.push_back(ports_so_far);
      ports_so_far += wiring(n).nics;
      for (const Device& device : wiring(n).devices)
        devices.push_back({device.kind, n, device.index, prefix + device.name});
      for (const Link& link : wiring(n).links)
        links.push_back({link.kind, first + link.from, first + link.to, link.capacity, link.latency});
    }
  }

  [[nodiscard]] std::vector<FabricPort> ports() const {
    std::vector<FabricPort> found;
    for (int n = 0; n < request.nodes; ++n)
      for (int nic = 0; nic < wiring(n).nics; ++nic)
        found.push_back({n, nic, first_device(n) + wiring(n).first_nic + nic,
                         graph(n).nic_remaining(nic) * line_rate(n, nic)});
    return found;
  }
  /// A cable runs at the rate of its slower end.
  [[nodiscard]] BytesPerSecond line_rate(int node, int nic) const {
    const std::vector<BytesPerSecond>& own = wiring(node).nic_rates;
    return own.empty() ? of(node).nic_rate : std::min(of(node).nic_rate, own[static_cast<std::size_t>(nic)]);
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
  std::vector<NodeClass> classes;
  std::vector<int> class_of, first_devices, first_links, first_ports;  ///< by node
  FabricGraph fabric;
  std::vector<Device> devices;
  std::vector<Link> links;
  std::vector<double> background_share;  ///< by link; empty: none
  std::vector<BackgroundFlow> background_flows;
  mutable std::once_flag whole_once;
  mutable std::unique_ptr<PathSearch> whole;
};

Cluster::Cluster(const ClusterRequest& request) : implementation_(std::make_unique<Implementation>(request)) {
  for (const LinkFault& fault : request.faults) {
    // "node1.nic0 - leaf3" is that card's cable only if it hangs there.
    const FaultEnds ends = ends_of(fault.at);
    const auto part = node_part_of(ends.first), other = node_part_of(ends.second);
    const bool here = (!part || part->node < request.nodes) && (!other || other->node < request.nodes);
    if (here && !ends.second.empty() && part.has_value() != other.has_value()) (void)links_at(fault.at);
  }
  for (const BackgroundLoad& load : request.background) add_background(load);
}

void Cluster::add_background(const BackgroundLoad& load) {
  Implementation& all = *implementation_;
  if (!load.at.empty()) {
    const std::vector<int> hit = links_at(load.at);
    if (hit.empty()) throw std::invalid_argument("the cluster has no " + load.at + " links");
    all.background_share.resize(all.links.size());
    for (const int link : hit) {
      double& share = all.background_share[static_cast<std::size_t>(link)];
      share = 1 - (1 - share) * (1 - load.share);  // a share of what is left
    }
    return;
  }
  const int from = device_named(load.from), to = device_named(load.to);
  BackgroundFlow flow{{}, load.rate};
  const Device &a = devices()[static_cast<std::size_t>(from)], &b = devices()[static_cast<std::size_t>(to)];
  if (a.kind == DeviceKind::nic && b.kind == DeviceKind::nic && a.node != b.node) {
    flow.links = fabric_flow(a.node, a.index, b.node, b.index);
  } else {
    for (const int link : route(from, to)) flow.links.push_back({link, 1.0});
  }
  if (flow.links.empty()) throw std::invalid_argument("nothing leads from " + load.from + " to " + load.to);
  all.background_flows.push_back(std::move(flow));
}
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
int Cluster::nics_per_node() const { return nics_of_node(0); }
int Cluster::nics_of_node(int node) const { return implementation_->wiring(node).nics; }
int Cluster::node_class(int node) const {
  return implementation_->class_of.at(static_cast<std::size_t>(node));
}
int Cluster::node_classes() const { return static_cast<int>(implementation_->classes.size()); }
const NodeSpec& Cluster::node_spec(int node) const { return implementation_->request.node_at(node); }
int Cluster::first_link(int node) const { return implementation_->first_link(node); }
bool Cluster::gpudirect(int node) const { return implementation_->gpudirect(node); }
bool Cluster::gpudirect() const {
  bool all = true;
  for (int node = 0; all && node < node_count(); ++node) all = gpudirect(node);
  return all;
}

double Cluster::gpu_speed(int rank) const {
  STEPCAST_CHECK(rank >= 0 && rank < gpu_count(), "no such rank");
  return implementation_->graph(rank / gpus_per_node()).gpu_speed(rank % gpus_per_node());
}

int Cluster::gpu_device(int rank) const {
  STEPCAST_CHECK(rank >= 0 && rank < gpu_count(), "no such rank");
  return implementation_->first_device(rank / gpus_per_node()) + rank % gpus_per_node();
}

int Cluster::nic_device(int node, int nic) const {
  STEPCAST_CHECK(node >= 0 && node < node_count() && nic >= 0 && nic < nics_of_node(node), "no such NIC");
  return implementation_->first_device(node) + implementation_->wiring(node).first_nic + nic;
}

int Cluster::host_device(int node, int socket) const {
  STEPCAST_CHECK(
      node >= 0 && node < node_count() && socket >= 0 && socket < implementation_->wiring(node).sockets,
      "no such socket");
  return implementation_->first_device(node) + implementation_->wiring(node).first_host + socket;
}

double Cluster::background_share(int link) const {
  const auto& shares = implementation_->background_share;
  return shares.empty() ? 0 : shares.at(static_cast<std::size_t>(link));
}

std::span<const BackgroundFlow> Cluster::background_flows() const {
  return implementation_->background_flows;
}

int Cluster::device_named(const std::string& name) const {
  std::vector<std::string> known;
  const auto part = node_part_of(name);
  for (std::size_t i = 0; i < devices().size(); ++i) {
    const Device& device = devices()[i];
    if (device.name == name) return static_cast<int>(i);
    if (device.node < 0 || device.node == (part ? part->node : 0)) known.push_back(device.name);
  }
  throw std::invalid_argument("the cluster has no \"" + name + "\": " + suggest(name, known));
}

std::vector<int> Cluster::links_at(const std::string& name) const {
  std::vector<int> found;
  const auto collect = [&](const auto& belongs) {
    for (std::size_t i = 0; i < links().size(); ++i)
      if (belongs(links()[i])) found.push_back(static_cast<int>(i));
  };
  for (const LinkKind kind :
       {LinkKind::nvlink, LinkKind::pcie, LinkKind::host, LinkKind::nic, LinkKind::fabric}) {
    if (name != name_of(kind)) continue;
    collect([&](const Link& link) { return link.kind == kind; });
    return found;
  }
  const FaultEnds ends = ends_of(name);
  const int first = device_named(ends.first);
  if (ends.second.empty()) {
    const bool cable = devices()[static_cast<std::size_t>(first)].kind == DeviceKind::nic;
    collect([&](const Link& link) {
      return (link.from == first || link.to == first) && (!cable || link.kind == LinkKind::nic);
    });
  } else {
    const int second = device_named(ends.second);
    collect([&](const Link& link) {
      return (link.from == first && link.to == second) || (link.from == second && link.to == first);
    });
    if (found.empty()) throw std::invalid_argument("no link joins " + ends.first + " and " + ends.second);
  }
  return found;
}

std::vector<int> Cluster::nics_near(int local_rank, int node) const {
  STEPCAST_CHECK(local_rank >= 0 && local_rank < gpus_per_node(), "no such local rank");
  return implementation_->graph(node).nics_near(local_rank);
}

int Cluster::gpu_near_nic(int nic, int node) const { return implementation_->graph(node).gpu_near_nic(nic); }

std::vector<int> Cluster::network_route(int rank, int nic, int peer_rank, int peer_nic) const {
  const Implementation& all = *implementation_;
  STEPCAST_CHECK(rank >= 0 && rank < gpu_count() && peer_rank >= 0 && peer_rank < gpu_count(),
                 "no such rank");
  const int node = rank / gpus_per_node();
  const int peer_node = peer_rank / gpus_per_node();
  STEPCAST_CHECK(nic >= 0 && nic < nics_of_node(node) && peer_nic >= 0 && peer_nic < nics_of_node(peer_node),
                 "no such NIC");
  if (all.request.topology == "rail-only") nic = peer_nic;
  std::vector<int> links = way_to_nic(node, rank % gpus_per_node(), nic);
  const std::vector<int> across = all.fabric.path(all.port(node, nic), all.port(peer_node, peer_nic));
  links.insert(links.end(), across.begin(), across.end());
  const std::vector<int> arrival = way_from_nic(peer_node, peer_nic, peer_rank % gpus_per_node());
  links.insert(links.end(), arrival.begin(), arrival.end());
  return links;
}

std::vector<int> Cluster::way_to_nic(int node, int local_rank, int nic) const {
  return shifted(implementation_->graph(node).to_nic(local_rank, nic, gpudirect(node), request().pxn),
                 first_link(node));
}

std::vector<int> Cluster::way_from_nic(int node, int nic, int local_rank) const {
  return shifted(implementation_->graph(node).from_nic(nic, local_rank, gpudirect(node)), first_link(node));
}

std::vector<int> Cluster::route(int from, int to) const {
  const Implementation& all = *implementation_;
  const Device& a = all.devices.at(static_cast<std::size_t>(from));
  const Device& b = all.devices.at(static_cast<std::size_t>(to));
  if (from == to) return {};
  if (a.node >= 0 && a.node == b.node) {
    const int first = all.first_device(a.node);
    return shifted(all.graph(a.node).path(from - first, to - first), all.first_link(a.node));
  }
  if (a.kind == DeviceKind::gpu && b.kind == DeviceKind::gpu) {
    const bool rails = all.request.topology == "rail-only" || all.request.topology == "rail-optimized";
    const int peer_nic = nics_near(b.index, b.node).front();
    const int nic = rails ? peer_nic : nics_near(a.index, a.node).front();
    return network_route(a.node * gpus_per_node() + a.index, nic, b.node * gpus_per_node() + b.index,
                         peer_nic);
  }
  if (a.kind == DeviceKind::nic && b.kind == DeviceKind::nic) {
    const int nic = all.port(a.node, a.index), peer = all.port(b.node, b.index);
    if (all.fabric.connected(nic, peer)) return all.fabric.path(nic, peer);
  }
  return all.search_everywhere(from, to);
}

bool Cluster::connected(int node, int nic, int peer_node, int peer_nic) const {
  return implementation_->fabric.connected(implementation_->port(node, nic),
                                           implementation_->port(peer_node, peer_nic));
}

std::vector<FlowShare> Cluster::fabric_flow(int node, int nic, int peer_node, int peer_nic) const {
  return implementation_->fabric.flow(implementation_->port(node, nic),
                                      implementation_->port(peer_node, peer_nic));
}

int Cluster::nvlink_connections(int local_rank, int peer, int node) const {
  STEPCAST_CHECK(local_rank >= 0 && local_rank < gpus_per_node() && peer >= 0 && peer < gpus_per_node(),
                 "no such local rank");
  return implementation_->wiring(node).nvlinks[static_cast<std::size_t>(local_rank * gpus_per_node() + peer)];
}

bool Cluster::nvlink_everywhere() const {
  bool all = true;
  for (const NodeClass& kind : implementation_->classes) all = all && kind.graph->nvlink_everywhere();
  return all;
}

}  // namespace stepcast
