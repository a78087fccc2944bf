#include "topology/fabric_graph.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "topology/network_routes.hpp"

namespace stepcast {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

NetworkPlan lay_out(const ClusterRequest& request, const std::vector<FabricPort>& ports) {
  if (request.topology == "dragonfly+") return lay_dragonfly(request, ports);
  if (request.topology == "torus") return lay_torus(request, ports);
  if (request.topology == "graph") return lay_written(request, ports);
  return lay_tree(request, ports);
}

/// NCCL opens its connections once per channel; TCP's sockets between two nodes are a figure of their own.
int flows_between_cards(const ClusterRequest& request, const std::vector<FabricPort>& ports) {
  const FabricSpec& fabric = request.fabric;
  if (fabric.sockets_untuned <= 0) return fabric.flows_per_connection * fabric.channels_per_nic;
  int nics = 1;
  for (const FabricPort& port : ports) nics = std::max(nics, port.nic + 1);
  return std::max(1, fabric.sockets_untuned / nics);
}

RoutingRule rule_of(const ClusterRequest& request, const std::vector<FabricPort>& ports) {
  RoutingRule rule;
  rule.routing = request.routing == "ecmp"     ? Routing::ecmp
                 : request.routing == "static" ? Routing::fixed
                                               : Routing::spray;
  rule.seed = request.routing_seed;
  rule.flows = flows_between_cards(request, ports);
  return rule;
}

/// Switches with the same number are joined by living cables.
std::vector<int> components(const SwitchGraph& graph) {
  std::vector<int> number(at(graph.size()), -1);
  std::vector<int> open;
  for (int first = 0; first < graph.size(); ++first) {
    if (number[at(first)] >= 0) continue;
    number[at(first)] = first;
    open.push_back(first);
    while (!open.empty()) {
      const int one = open.back();
      open.pop_back();
      for (const Arc& arc : graph.out(one)) {
        if (number[at(arc.to)] >= 0) continue;
        number[at(arc.to)] = first;
        open.push_back(arc.to);
      }
    }
  }
  return number;
}

/// What the cards below the spines of each group can send; 0 for leaves.
std::vector<double> offered(const NetworkPlan& plan, const SwitchGraph& graph,
                            const std::vector<FabricPort>& ports) {
  std::vector<double> cards(plan.switches.size(), 0), found(plan.switches.size(), 0);
  for (std::size_t port = 0; port < ports.size(); ++port)
    cards[at(plan.switch_of[port])] += ports[port].rate.value;
  for (const Arc& arc : graph.arcs())
    if (plan.switches[at(arc.from)].kind == DeviceKind::leaf_switch)
      found[at(arc.to)] += std::min(cards[at(arc.from)], arc.rate);
  return found;
}

/// By port: its number when the cards of the first switch come first, then those of the next.
std::vector<int> numbers_along_leaves(const std::vector<int>& switch_of) {
  std::vector<int> order(switch_of.size()), number(switch_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return switch_of[at(a)] < switch_of[at(b)]; });
  for (std::size_t i = 0; i < order.size(); ++i) number[at(order[i])] = static_cast<int>(i);
  return number;
}

}  // namespace

struct FabricGraph::Implementation {
  Implementation(const ClusterRequest& request, std::vector<FabricPort> with, NetworkPlan laid,
                 SwitchGraph living, int link)
      : ports(std::move(with)),
        plan(std::move(laid)),
        graph(std::move(living)),
        component(components(graph)),
        fixed(request.routing == "static"),
        along_leaves(numbers_along_leaves(plan.switch_of)),
        first_nic_link(link) {
    const RoutingRule rule = rule_of(request, ports);
    if (request.topology == "torus")
      routes = torus_routes(graph, rule, request.torus);
    else if (request.topology == "dragonfly+" && rule.routing == Routing::spray)
      routes = dragonfly_routes(graph, rule, offered(plan, graph, ports));
    else
      routes = shortest_routes(graph, rule);
  }

  [[nodiscard]] int switch_of(int port) const { return plan.switch_of.at(at(port)); }
  [[nodiscard]] std::string name(int port) const {
    return "node" + std::to_string(ports[at(port)].node) + ".nic" + std::to_string(ports[at(port)].nic);
  }

  std::vector<FabricPort> ports;  ///< with what faults leave of their rate
  NetworkPlan plan;
  SwitchGraph graph;
  std::vector<int> component;     ///< by switch
  bool fixed{};                   ///< static routing
  std::vector<int> along_leaves;  ///< by port: its number as D-mod-K counts
  int first_nic_link{};           ///< port number n: up 2n, down 2n + 1
  std::unique_ptr<NetworkRoutes> routes;
};

FabricGraph::FabricGraph() = default;
FabricGraph::~FabricGraph() = default;
FabricGraph::FabricGraph(FabricGraph&&) noexcept = default;
FabricGraph& FabricGraph::operator=(FabricGraph&&) noexcept = default;

FabricGraph::FabricGraph(const ClusterRequest& request, const std::vector<FabricPort>& ports,
                         const std::vector<LinkFault>& faults, std::vector<Device>& devices,
                         std::vector<Link>& links) {
  NetworkPlan plan = lay_out(request, ports);
  const std::vector<double> remaining = damage(plan, faults);
  if (request.routing == "spray") plan = bundled(plan);

  const int first_switch = static_cast<int>(devices.size());
  int leaves = 0, others = 0;
  for (const NetworkSwitch& one : plan.switches)
    devices.push_back({one.kind, -1, one.kind == DeviceKind::leaf_switch ? leaves++ : others++, one.name});
  const int first_nic_link = static_cast<int>(links.size());
  const Seconds half = request.fabric.link_latency / 2;
  std::vector<FabricPort> with = ports;
  for (std::size_t port = 0; port < with.size(); ++port) {
    with[port].rate = remaining[port] * with[port].rate;
    const int device = with[port].device, above = first_switch + plan.switch_of[port];
    links.push_back({LinkKind::nic, device, above, with[port].rate, half});
    links.push_back({LinkKind::nic, above, device, with[port].rate, half});
  }
  std::vector<Arc> arcs;
  for (const NetworkCable& cable : plan.cables) {
    for (const auto& [from, to] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)}) {
      if (cable.rate.value > 0) arcs.push_back({from, to, static_cast<int>(links.size()), cable.rate.value});
      links.push_back({LinkKind::fabric, first_switch + from, first_switch + to, cable.rate,
                       request.fabric.switch_latency});
    }
  }
  SwitchGraph graph(static_cast<int>(plan.switches.size()), std::move(arcs));
  implementation_ = std::make_unique<Implementation>(request, std::move(with), std::move(plan),
                                                     std::move(graph), first_nic_link);
}

bool FabricGraph::connected(int port, int peer) const {
  const Implementation& all = *implementation_;
  return all.ports.at(at(port)).rate.value > 0 && all.ports.at(at(peer)).rate.value > 0 &&
         all.component[at(all.switch_of(port))] == all.component[at(all.switch_of(peer))];
}

std::vector<FlowShare> FabricGraph::flow(int port, int peer) const {
  const Implementation& all = *implementation_;
  if (!connected(port, peer))
    throw std::invalid_argument("the network does not lead from " + all.name(port) + " to " + all.name(peer));
  std::vector<FlowShare> shares{{all.first_nic_link + 2 * port, 1.0}};
  const int from = all.switch_of(port), to = all.switch_of(peer);
  if (from != to) {
    // D-mod-K counts receivers along the leaves, so that those of one leaf are spread over all spines.
    const int number = all.fixed ? all.along_leaves[at(peer)] : peer;
    const auto across = all.routes->flow(from, to, port, number);
    shares.insert(shares.end(), across.begin(), across.end());
  }
  shares.push_back({all.first_nic_link + 2 * peer + 1, 1.0});
  return shares;
}

std::vector<int> FabricGraph::path(int port, int peer) const {
  const Implementation& all = *implementation_;
  const std::vector<FlowShare> shares = flow(port, peer);
  std::vector<int> links{shares.front().link};
  for (int one = all.switch_of(port); one != all.switch_of(peer);) {
    const Arc* most = nullptr;
    double greatest = 0;
    for (const FlowShare& share : shares) {
      const auto out = all.graph.out(one);
      const auto arc =
          std::find_if(out.begin(), out.end(), [&](const Arc& a) { return a.link == share.link; });
      if (arc == out.end() || !(share.share > greatest)) continue;
      greatest = share.share;
      most = &*arc;
    }
    STEPCAST_CHECK(most != nullptr, "a flow that ends on its way");
    links.push_back(most->link);
    one = most->to;
  }
  links.push_back(shares.back().link);
  return links;
}

}  // namespace stepcast
