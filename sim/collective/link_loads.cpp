#include "sim/collective/link_loads.hpp"

#include <algorithm>

#include "base/diagnostic.hpp"
#include "sim/collective/link_load_sum.hpp"

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

const std::vector<Lane>& LinkLoads::lanes(const NodeMembers& node, bool across_nodes) const {
  const auto [entry, fresh] =
      lanes_.try_emplace({paths_.cluster().node_class(node.node), node.locals, across_nodes});
  if (fresh) entry->second = node_lanes(paths_, node.node, node.locals, across_nodes);
  return entry->second;
}

LinkLoads::LaneChoice LinkLoads::choose_lanes(const GroupShape& group, int lanes_at_most) const {
  const bool across = group.node_count() > 1;
  std::size_t fewest = 0;
  std::vector<int> common;  // NICs that all nodes have a lane for
  const std::vector<Lane>* last = nullptr;
  bool alike = true;
  for (const auto& node : group.nodes) {
    const auto& own = lanes(node, across);
    if (&own == last) continue;
    alike = alike && last == nullptr;
    fewest = last == nullptr ? own.size() : std::min(fewest, own.size());
    std::vector<int> nics;
    for (const Lane& lane : own)
      if (last == nullptr || std::find(common.begin(), common.end(), lane.nic) != common.end())
        nics.push_back(lane.nic);
    common = std::move(nics);
    last = &own;
  }
  LaneChoice choice;
  choice.count = static_cast<int>(fewest);
  if (lanes_at_most > 0) choice.count = std::min(choice.count, lanes_at_most);
  // Rails stay on their own switches where every node has them.
  if (!alike && common.size() == fewest) choice.nics = std::move(common);
  return choice;
}

const Lane& LinkLoads::lane(const std::vector<Lane>& own, const LaneChoice& choice, int number) {
  const auto index = static_cast<std::size_t>(number);
  if (choice.nics.empty()) return own[index];
  return *std::find_if(own.begin(), own.end(),
                       [&](const Lane& lane) { return lane.nic == choice.nics[index]; });
}

void LinkLoads::ring(Sum& sum, Operation operation, const GroupShape& group, int lanes_at_most) const {
  const LaneChoice choice = choose_lanes(group, lanes_at_most);
  const double weight = ring_bytes_per_hop(operation, group.ranks) / choice.count;
  const NodeMembers& first = group.nodes.front();
  const auto carries = [&](const NodeMembers& from, int sender, const NodeMembers& to, int receiver) {
    if (operation == Operation::broadcast) return &to != &first || receiver != first.locals.front();
    if (operation == Operation::reduce) return &from != &first || sender != first.locals.front();
    return true;
  };
  for (std::size_t i = 0; i < group.nodes.size(); ++i) {
    const NodeMembers &here = group.nodes[i], &next = group.nodes[(i + 1) % group.nodes.size()];
    const bool across = group.nodes.size() > 1;
    const auto &own = lanes(here, across), &other = lanes(next, across);
    for (int l = 0; l < choice.count; ++l) {
      const Lane &from = lane(own, choice, l), &target = lane(other, choice, l);
      for (std::size_t k = 0; k + 1 < from.order.size(); ++k)
        if (carries(here, from.order[k], here, from.order[k + 1])) {
          sum.begin(here.node, from.order[k], here.node, from.order[k + 1], weight, l);
          sum.add(here.node, paths_.between(here.node, from.order[k], from.order[k + 1]), weight);
        }
      const int exit = from.order.back(), entry = target.order.front();
      if (!carries(here, exit, next, entry)) continue;
      if (!across && from.order.size() < 2) continue;
      sum.begin(here.node, exit, next.node, entry, weight, l);
      if (!across) {
        sum.add(here.node, paths_.between(here.node, exit, entry), weight);
        continue;
      }
      sum.add_network(here.node, exit, from.nic, next.node, target.nic, entry, weight);
    }
  }
}

void LinkLoads::tree_across(Sum& sum, const GroupShape& group, const LaneChoice& choice) const {
  const double weight = 0.5 / choice.count;  // each of the two trees carries half of the payload
  int edge = 0;
  for (const auto& [child, parent] : double_tree(group.node_count())) {
    const int which = edge++ % 2;
    const NodeMembers &below = group.nodes[static_cast<std::size_t>(child)],
                      &above = group.nodes[static_cast<std::size_t>(parent)];
    const auto &low = lanes(below, true), &high = lanes(above, true);
    for (int l = 0; l < choice.count; ++l) {
      const Lane &from = lane(low, choice, l), &to = lane(high, choice, l);
      const int door = from.order.front(), upper_door = to.order.front();
      sum.begin(below.node, door, above.node, upper_door, weight, l, which);
      sum.add_network(below.node, door, from.nic, above.node, to.nic, upper_door, weight);
      sum.begin(above.node, upper_door, below.node, door, weight, l, which, true);
      sum.add_network(above.node, upper_door, to.nic, below.node, from.nic, door, weight);
    }
  }
}

void LinkLoads::tree(Sum& sum, const GroupShape& group, int lanes_at_most) const {
  const LaneChoice choice = choose_lanes(group, lanes_at_most);
  const bool across = group.node_count() > 1;
  for (const auto& node : group.nodes) {
    const auto& own = lanes(node, across);
    for (int l = 0; l < choice.count; ++l) {
      const auto& order = lane(own, choice, l).order;
      for (std::size_t k = 0; k + 1 < order.size(); ++k) {
        const double weight = 1.0 / choice.count;
        sum.begin(node.node, order[k + 1], node.node, order[k], weight, l);
        sum.add(node.node, paths_.between(node.node, order[k + 1], order[k]), weight);
        sum.begin(node.node, order[k], node.node, order[k + 1], weight, l, -1, true);
        sum.add(node.node, paths_.between(node.node, order[k], order[k + 1]), weight);
      }
    }
  }
  if (across) tree_across(sum, group, choice);
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

void LinkLoads::send_recv(Sum& sum, const GroupShape& group) const {
  int node = -1, local = -1;
  for (const auto& members : group.nodes)
    for (const int receiver : members.locals) {
      if (node >= 0) sum.add_message(node, local, members.node, receiver, 1);
      node = members.node;
      local = receiver;
    }
}

void LinkLoads::add(Sum& sum, Operation operation, Algorithm algorithm, const GroupShape& group,
                    int lanes_at_most) const {
  if (operation == Operation::all_to_all)
    all_to_all(sum, group);
  else if (operation == Operation::send_recv)
    send_recv(sum, group);
  else if (algorithm == Algorithm::tree)
    tree(sum, group, lanes_at_most);
  else if (algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree)
    nvls(sum, operation, algorithm, group, lanes_at_most);
  else if (algorithm == Algorithm::collnet_direct || algorithm == Algorithm::collnet_chain)
    collnet(sum, operation, algorithm, group, lanes_at_most);
  else if (algorithm == Algorithm::pat)
    pat(sum, operation, group);
  else if (algorithm == Algorithm::hierarchical)
    hierarchical(sum, operation, group);
  else
    ring(sum, operation, group, lanes_at_most);
}

std::vector<Message> LinkLoads::messages(Operation operation, Algorithm algorithm, const GroupShape& group,
                                         int lanes_at_most) const {
  std::vector<Message> found;
  Sum sum(paths_, zeros_);
  sum.messages = &found;
  add(sum, operation, algorithm, group, lanes_at_most);
  (void)sum.take();  // leaves zeros
  return found;
}

CallLoads LinkLoads::of(Operation operation, Algorithm algorithm, const std::vector<GroupShape>& groups,
                        int lanes_at_most) const {
  Sum sum(paths_, zeros_);
  CallLoads result;
  for (const auto& group : groups) add(sum, operation, algorithm, group, lanes_at_most);
  result.loads = sum.take();
  result.lanes = std::max(1, choose_lanes(groups.front(), lanes_at_most).count);
  if (sum.crossings > 0) result.further_switches = sum.switches / sum.crossings;
  return result;
}

}  // namespace stepcast
