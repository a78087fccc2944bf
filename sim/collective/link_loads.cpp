#include "sim/collective/link_loads.hpp"

#include <algorithm>

#include "base/diagnostic.hpp"

namespace stepcast {

double ring_bytes_per_hop(Operation operation, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (operation) {
    case Operation::all_reduce:
      return 2 * others;
    case Operation::all_gather:
    case Operation::reduce_scatter:
      return others;
    default:
      return 1;
  }
}

struct LinkLoads::Sum {
  explicit Sum(const NodePaths& node_paths)
      : paths(node_paths), weights(node_paths.cluster().links().size()) {}

  void add(int node, const LocalPath& path, double weight) {
    for (const int place : path) weights[static_cast<std::size_t>(paths.link(node, place))] += weight;
  }
  void add_fabric(int node, int nic, int peer_node, int peer_nic, double weight) {
    const FabricPath& fabric = paths.fabric(node, nic, peer_node, peer_nic);
    weights[static_cast<std::size_t>(paths.nic_up(node, nic))] += weight;
    weights[static_cast<std::size_t>(paths.nic_down(peer_node, peer_nic))] += weight;
    for (const int link : fabric.links) weights[static_cast<std::size_t>(link)] += weight;
    switches += fabric.further_switches;
    ++crossings;
  }
  /// From one GPU's door to another's.
  void add_network(int node, int local, int nic, int peer_node, int peer_nic, int peer, double weight) {
    add(node, paths.to_nic(local, nic), weight);
    add_fabric(node, nic, peer_node, peer_nic, weight);
    add(peer_node, paths.from_nic(peer_nic, peer), weight);
  }
  /// Spread over the NICs of both ends; with rails the sender hands over to its neighbour on the receiver's
  /// rail.
  void add_message(int node, int local, int peer_node, int peer, double weight) {
    if (node == peer_node) {
      add(node, paths.between(local, peer), weight);
      return;
    }
    const auto &out = paths.nics_of(local), &in = paths.nics_of(peer);
    const double share = weight / static_cast<double>(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (paths.rails()) {
        const int feeder = paths.cluster().gpu_near_nic(in[i]);
        const bool hand_over = feeder != local && paths.all_nvlink(paths.between(local, feeder));
        if (hand_over) add(node, paths.between(local, feeder), share);
        add_network(node, hand_over ? feeder : local, in[i], peer_node, in[i], peer, share);
      } else {
        add_network(node, local, out[i % out.size()], peer_node, in[i], peer, share);
      }
    }
  }

  const NodePaths& paths;
  std::vector<double> weights;
  double switches{};
  double crossings{};
};

const std::vector<Lane>& LinkLoads::lanes(const std::vector<int>& members, bool across_nodes) const {
  const auto [entry, fresh] = lanes_.try_emplace({members, across_nodes});
  if (fresh) entry->second = node_lanes(paths_, members, across_nodes);
  return entry->second;
}

int LinkLoads::lane_count(const GroupShape& group, int lanes_at_most) const {
  std::size_t fewest = 0;
  for (const auto& node : group.nodes) {
    const std::size_t here = lanes(node.locals, group.node_count() > 1).size();
    fewest = fewest == 0 ? here : std::min(fewest, here);
  }
  const int count = static_cast<int>(fewest);
  return lanes_at_most > 0 ? std::min(count, lanes_at_most) : count;
}

void LinkLoads::ring(Sum& sum, Operation operation, const GroupShape& group, int lanes_at_most) const {
  const int count = lane_count(group, lanes_at_most);
  const double weight = ring_bytes_per_hop(operation, group.ranks) / count;
  const NodeMembers& first = group.nodes.front();
  const auto carries = [&](const NodeMembers& from, int sender, const NodeMembers& to, int receiver) {
    if (operation == Operation::broadcast) return &to != &first || receiver != first.locals.front();
    if (operation == Operation::reduce) return &from != &first || sender != first.locals.front();
    return true;
  };
  for (std::size_t i = 0; i < group.nodes.size(); ++i) {
    const NodeMembers &here = group.nodes[i], &next = group.nodes[(i + 1) % group.nodes.size()];
    const bool across = group.nodes.size() > 1;
    const auto &own = lanes(here.locals, across), &other = lanes(next.locals, across);
    for (int l = 0; l < count; ++l) {
      const Lane &lane = own[static_cast<std::size_t>(l)], &target = other[static_cast<std::size_t>(l)];
      for (std::size_t k = 0; k + 1 < lane.order.size(); ++k)
        if (carries(here, lane.order[k], here, lane.order[k + 1]))
          sum.add(here.node, paths_.between(lane.order[k], lane.order[k + 1]), weight);
      const int exit = lane.order.back(), entry = target.order.front();
      if (!carries(here, exit, next, entry)) continue;
      if (!across) {
        if (lane.order.size() > 1) sum.add(here.node, paths_.between(exit, entry), weight);
        continue;
      }
      sum.add_network(here.node, exit, lane.nic, next.node, target.nic, entry, weight);
    }
  }
}

void LinkLoads::tree_across(Sum& sum, const GroupShape& group, int count) const {
  const double weight = 0.5 / count;  // each of the two trees carries half of the payload
  for (const auto& [child, parent] : double_tree(group.node_count())) {
    const NodeMembers &below = group.nodes[static_cast<std::size_t>(child)],
                      &above = group.nodes[static_cast<std::size_t>(parent)];
    const auto &low = lanes(below.locals, true), &high = lanes(above.locals, true);
    for (int l = 0; l < count; ++l) {
      const Lane &from = low[static_cast<std::size_t>(l)], &to = high[static_cast<std::size_t>(l)];
      sum.add_network(below.node, from.order.front(), from.nic, above.node, to.nic, to.order.front(), weight);
      sum.add_network(above.node, to.order.front(), to.nic, below.node, from.nic, from.order.front(), weight);
    }
  }
}

void LinkLoads::tree(Sum& sum, const GroupShape& group, int lanes_at_most) const {
  const int count = lane_count(group, lanes_at_most);
  const bool across = group.node_count() > 1;
  for (const auto& node : group.nodes) {
    const auto& own = lanes(node.locals, across);
    for (int l = 0; l < count; ++l) {
      const auto& order = own[static_cast<std::size_t>(l)].order;
      for (std::size_t k = 0; k + 1 < order.size(); ++k) {
        sum.add(node.node, paths_.between(order[k + 1], order[k]), 1.0 / count);
        sum.add(node.node, paths_.between(order[k], order[k + 1]), 1.0 / count);
      }
    }
  }
  if (across) tree_across(sum, group, count);
}

void LinkLoads::nvls(Sum& sum, const GroupShape& group, int lanes_at_most) const {
  for (const auto& node : group.nodes) {
    const double weight = 1 + 1.0 / static_cast<double>(node.locals.size());
    for (const int local : node.locals) {
      const auto& [up, down] = paths_.switch_links(local);
      STEPCAST_CHECK(!up.empty() && !down.empty(), "NVLS without an NVSwitch");
      // Several switches take equal parts.
      sum.add(node.node, up, weight / static_cast<double>(up.size()));
      sum.add(node.node, down, weight / static_cast<double>(down.size()));
    }
  }
  if (group.node_count() > 1) tree_across(sum, group, lane_count(group, lanes_at_most));
}

void LinkLoads::hierarchical(Sum& sum, Operation operation, const GroupShape& group) const {
  for (const auto& node : group.nodes) {
    if (node.locals.size() < 2) continue;
    GroupShape inside{static_cast<int>(node.locals.size()), {node}};
    ring(sum, operation, inside, 0);
  }
  const double rails = static_cast<double>(group.nodes.front().locals.size());
  const double weight = ring_bytes_per_hop(operation, group.node_count()) / rails;
  for (std::size_t i = 0; group.node_count() > 1 && i < group.nodes.size(); ++i) {
    const NodeMembers &here = group.nodes[i], &next = group.nodes[(i + 1) % group.nodes.size()];
    for (std::size_t k = 0; k < here.locals.size(); ++k)
      sum.add_message(here.node, here.locals[k], next.node, next.locals[k], weight);
  }
}

void LinkLoads::all_to_all(Sum& sum, const GroupShape& group) const {
  const double weight = 1.0 / group.ranks;
  for (const auto& from : group.nodes)
    for (const auto& to : group.nodes)
      for (const int sender : from.locals)
        for (const int receiver : to.locals)
          if (&from != &to || sender != receiver)
            sum.add_message(from.node, sender, to.node, receiver, weight);
}

void LinkLoads::send_recv(Sum& sum, const GroupShape& group) const {
  int node = -1, local = -1;
  for (const auto& members : group.nodes)
    for (const int receiver : members.locals) {
      if (node >= 0) sum.add_message(node, local, members.node, receiver, 1);
      node = members.node;
      local = receiver;
    }
}

CallLoads LinkLoads::of(Operation operation, Algorithm algorithm, const std::vector<GroupShape>& groups,
                        int lanes_at_most) const {
  Sum sum(paths_);
  CallLoads result;
  for (const auto& group : groups) {
    if (operation == Operation::all_to_all)
      all_to_all(sum, group);
    else if (operation == Operation::send_recv)
      send_recv(sum, group);
    else if (algorithm == Algorithm::tree)
      tree(sum, group, lanes_at_most);
    else if (algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree)
      nvls(sum, group, lanes_at_most);
    else if (algorithm == Algorithm::hierarchical)
      hierarchical(sum, operation, group);
    else
      ring(sum, operation, group, lanes_at_most);
  }
  for (std::size_t link = 0; link < sum.weights.size(); ++link)
    if (sum.weights[link] > 0) result.loads.push_back({static_cast<int>(link), sum.weights[link]});
  result.lanes = std::max(1, lane_count(groups.front(), lanes_at_most));
  if (sum.crossings > 0) result.further_switches = sum.switches / sum.crossings;
  return result;
}

}  // namespace stepcast
