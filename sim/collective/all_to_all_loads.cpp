#include <map>

#include "sim/collective/link_load_sum.hpp"

namespace stepcast {
namespace {

/// Nodes of one class with the same members.
struct Kind {
  std::vector<const NodeMembers*> nodes;
};

std::vector<Kind> kinds_of(const Cluster& cluster, const GroupShape& group) {
  std::map<std::pair<int, std::vector<int>>, Kind> found;
  for (const auto& node : group.nodes) {
    Kind& kind = found[{cluster.node_class(node.node), node.locals}];
    kind.nodes.push_back(&node);
  }
  std::vector<Kind> kinds;
  for (auto& [key, kind] : found) kinds.push_back(std::move(kind));
  return kinds;
}

/// What goes from one node to one other of given kinds: on places inside both, and from NIC to NIC.
struct PairPattern {
  std::map<int, double> out, in;  ///< by place
  struct Crossing {
    int nic{}, peer_nic{};
    double weight{};
    int messages{};
  };
  std::vector<Crossing> crossings;
};

PairPattern pattern_of(const NodePaths& paths, const NodeMembers& from, const NodeMembers& to,
                       double weight) {
  PairPattern pattern;
  std::map<std::pair<int, int>, PairPattern::Crossing> crossings;
  const auto add = [](std::map<int, double>& sum, const LocalPath& path, double share) {
    for (const int place : path) sum[place] += share;
  };
  for (const int sender : from.locals)
    for (const int receiver : to.locals)
      for (const NetworkWay& way : network_ways(paths, from.node, sender, to.node, receiver)) {
        const double share = way.share * weight;
        if (way.sender != sender) add(pattern.out, paths.between(from.node, sender, way.sender), share);
        add(pattern.out, paths.to_nic(from.node, way.sender, way.nic), share);
        add(pattern.in, paths.from_nic(to.node, way.peer_nic, receiver), share);
        auto& crossing = crossings[{way.nic, way.peer_nic}];
        crossing.weight += share;
        ++crossing.messages;
      }
  for (auto& [nics, crossing] : crossings) {
    crossing.nic = nics.first;
    crossing.peer_nic = nics.second;
    pattern.crossings.push_back(crossing);
  }
  return pattern;
}

}  // namespace

/// Where sprayed flows of two leaves all run alike, what crosses between two leaves is the sum over their
/// NICs: the cost is that of the pairs of leaves and of kinds of nodes, not of ranks.
class LeafTraffic {
 public:
  explicit LeafTraffic(const NodePaths& paths) : paths_(paths) {}

  /// All nodes of `from` to all others of `to`.
  void add(const Kind& from, const Kind& to, const PairPattern& pattern) {
    const auto senders = count(from), receivers = count(to);
    for (const auto& crossing : pattern.crossings)
      for (const auto& [leaf, nics] : senders) {
        const auto out = nics.find(crossing.nic);
        if (out == nics.end()) continue;
        for (const auto& [peer_leaf, peer_nics] : receivers) {
          const auto in = peer_nics.find(crossing.peer_nic);
          if (in == peer_nics.end() || leaf == peer_leaf) continue;
          const double pairs = static_cast<double>(out->second.count) * in->second.count;
          add(leaf, peer_leaf, out->second, in->second, pairs, crossing);
        }
      }
    if (&from != &to) return;
    // No node sends to itself over the network.
    for (const NodeMembers* node : from.nodes)
      for (const auto& crossing : pattern.crossings) {
        const int leaf = leaf_of(node->node, crossing.nic),
                  peer_leaf = leaf_of(node->node, crossing.peer_nic);
        if (leaf != peer_leaf) add(leaf, peer_leaf, {}, {}, -1, crossing);
      }
  }

  template <class AddFlow>
  void each(AddFlow add_flow) const {
    for (const auto& [leaves, flow] : flows_)
      add_flow(paths_.fabric(flow.node, flow.nic, flow.peer_node, flow.peer_nic), flow.weight, flow.messages);
  }

 private:
  struct Ports {
    int node{-1}, nic{};  ///< one of them
    int count{};
  };
  struct Flow {
    int node{-1}, nic{}, peer_node{}, peer_nic{};
    double weight{}, messages{};
  };

  [[nodiscard]] int leaf_of(int node, int nic) const {
    return paths_.cluster().links()[static_cast<std::size_t>(paths_.nic_up(node, nic))].to;
  }
  [[nodiscard]] std::map<int, std::map<int, Ports>> count(const Kind& kind) const {
    std::map<int, std::map<int, Ports>> ports;  // by leaf and NIC
    for (const NodeMembers* node : kind.nodes)
      for (int nic = 0; nic < paths_.cluster().nics_of_node(node->node); ++nic) {
        if (!paths_.has_nic(node->node, nic)) continue;
        Ports& here = ports[leaf_of(node->node, nic)][nic];
        if (here.node < 0) here = {node->node, nic, 0};
        ++here.count;
      }
    return ports;
  }
  void add(int leaf, int peer_leaf, const Ports& out, const Ports& in, double pairs,
           const PairPattern::Crossing& crossing) {
    Flow& flow = flows_[{leaf, peer_leaf}];
    if (flow.node < 0 && out.node >= 0)
      flow = {out.node, out.nic, in.node, in.nic, flow.weight, flow.messages};
    flow.weight += pairs * crossing.weight;
    flow.messages += pairs * crossing.messages;
  }

  const NodePaths& paths_;
  std::map<std::pair<int, int>, Flow> flows_;
};

void LinkLoads::all_to_all(Sum& sum, const GroupShape& group) const {
  const double weight = 1.0 / group.ranks;
  for (const auto& node : group.nodes)
    for (const int sender : node.locals)
      for (const int receiver : node.locals)
        if (sender != receiver) sum.add_message(node.node, sender, node.node, receiver, weight);
  if (group.node_count() == 1) return;
  if (sum.messages != nullptr || paths_.cluster().request().routing != "spray") {
    for (const auto& from : group.nodes)
      for (const auto& to : group.nodes)
        for (const int sender : from.locals)
          for (const int receiver : to.locals)
            if (&from != &to) sum.add_message(from.node, sender, to.node, receiver, weight);
    return;
  }
  const auto kinds = kinds_of(paths_.cluster(), group);
  LeafTraffic traffic(paths_);
  for (const Kind& from : kinds)
    for (const Kind& to : kinds) {
      const int peers = static_cast<int>(to.nodes.size()) - (&from == &to ? 1 : 0);
      const int senders = static_cast<int>(from.nodes.size()) - (&from == &to ? 1 : 0);
      if (peers == 0) continue;
      const auto pattern = pattern_of(paths_, *from.nodes.front(), *to.nodes.back(), weight);
      for (const NodeMembers* node : from.nodes) {
        for (const auto& [place, share] : pattern.out)
          sum.add_link(paths_.link(node->node, place), peers * share);
        for (const auto& crossing : pattern.crossings)
          sum.add_link(paths_.nic_up(node->node, crossing.nic), peers * crossing.weight);
      }
      for (const NodeMembers* node : to.nodes) {
        for (const auto& [place, share] : pattern.in)
          sum.add_link(paths_.link(node->node, place), senders * share);
        for (const auto& crossing : pattern.crossings) {
          sum.add_link(paths_.nic_down(node->node, crossing.peer_nic), senders * crossing.weight);
          sum.crossings += static_cast<double>(senders) * crossing.messages;
        }
      }
      traffic.add(from, to, pattern);
    }
  traffic.each([&](const FabricPath& path, double flow, double messages) {
    for (const FlowShare& way : path.links) sum.add_link(way.link, way.share * flow);
    sum.switches += path.further_switches * messages;
  });
}

}  // namespace stepcast
