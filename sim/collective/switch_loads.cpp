// Loads of the algorithms that let switches reduce or copy: NVLS inside nodes, CollNet (SHARP) in the
// network.
#include <map>

#include "base/diagnostic.hpp"
#include "sim/collective/link_load_sum.hpp"

namespace stepcast {

/// Every GPU's links to the switches of its node, which take equal parts.
void LinkLoads::add_switch_links(Sum& sum, const NodeMembers& node, double up_weight,
                                 double down_weight) const {
  for (const int local : node.locals) {
    const auto& [up, down] = paths_.switch_links(node.node, local);
    STEPCAST_CHECK(!up.empty() && !down.empty(), "in-switch reduction without an NVSwitch");
    sum.add(node.node, up, up_weight / static_cast<double>(up.size()));
    sum.add(node.node, down, down_weight / static_cast<double>(down.size()));
  }
}

void LinkLoads::nvls(Sum& sum, Operation operation, Algorithm algorithm, const GroupShape& group,
                     int lanes_at_most) const {
  for (const auto& node : group.nodes) {
    const double part = 1.0 / static_cast<double>(node.locals.size());
    const bool gathers = operation == Operation::all_gather,
               scatters = operation == Operation::reduce_scatter;
    add_switch_links(sum, node,
                     gathers    ? part
                     : scatters ? 1
                                : 1 + part,
                     gathers    ? 1
                     : scatters ? part
                                : 1 + part);
  }
  if (group.node_count() == 1) return;
  if (algorithm == Algorithm::nvls_tree)
    tree_across(sum, group, choose_lanes(group, lanes_at_most));
  else
    network_reduction(sum, operation, group, lanes_at_most);
}

void LinkLoads::network_reduction(Sum& sum, Operation operation, const GroupShape& group,
                                  int lanes_at_most) const {
  const LaneChoice choice = choose_lanes(group, lanes_at_most);
  for (int l = 0; l < choice.count; ++l) {
    std::map<int, std::pair<const NodeMembers*, int>> leaves;  // a node and its NIC on each
    for (const auto& node : group.nodes) {
      const Lane& here = lane(lanes(node, true), choice, l);
      const double part = static_cast<double>(node.locals.size()) / group.ranks;
      const double up = (operation == Operation::all_gather ? part : 1) / choice.count;
      const double down = (operation == Operation::reduce_scatter ? part : 1) / choice.count;
      sum.add(node.node, paths_.to_nic(node.node, here.order.front(), here.nic), up);
      sum.add(node.node, paths_.from_nic(node.node, here.nic, here.order.front()), down);
      sum.add_link(paths_.nic_up(node.node, here.nic), up);
      sum.add_link(paths_.nic_down(node.node, here.nic), down);
      const Link& cable =
          paths_.cluster().links()[static_cast<std::size_t>(paths_.nic_up(node.node, here.nic))];
      leaves.try_emplace(cable.to, &node, here.nic);
      ++sum.crossings;
    }
    // The leaf of the first node stands for the root: the others send what they reduced to it and get the
    // result.
    const auto& [root, root_nic] =
        leaves.at(paths_.cluster()
                      .links()[static_cast<std::size_t>(paths_.nic_up(
                          group.nodes.front().node, lane(lanes(group.nodes.front(), true), choice, l).nic))]
                      .to);
    for (const auto& [leaf, port] : leaves) {
      const auto& [node, nic] = port;
      if (node == root && nic == root_nic) continue;
      for (const bool up : {true, false}) {
        const FabricPath& path = up ? paths_.fabric(node->node, nic, root->node, root_nic)
                                    : paths_.fabric(root->node, root_nic, node->node, nic);
        for (const FlowShare& way : path.links) sum.add_link(way.link, way.share / choice.count);
        if (up) sum.switches += path.further_switches;
      }
    }
  }
}

void LinkLoads::collnet(Sum& sum, Operation operation, Algorithm algorithm, const GroupShape& group,
                        int lanes_at_most) const {
  network_reduction(sum, operation, group, lanes_at_most);
  const LaneChoice choice = choose_lanes(group, lanes_at_most);
  for (const auto& node : group.nodes) {
    const double ranks = static_cast<double>(node.locals.size());
    if (ranks < 2) continue;
    if (algorithm == Algorithm::collnet_direct) {
      const double once = (ranks - 1) / ranks;  // reduce-scatter before, all-gather after
      const double both = operation == Operation::all_reduce ? 2 * once : once;
      add_switch_links(sum, node, both, both);
      continue;
    }
    for (int l = 0; l < choice.count; ++l) {
      const auto& order = lane(lanes(node, true), choice, l).order;
      for (std::size_t k = 0; k + 1 < order.size(); ++k) {
        sum.add(node.node, paths_.between(node.node, order[k + 1], order[k]), 1.0 / choice.count);
        sum.add(node.node, paths_.between(node.node, order[k], order[k + 1]), 1.0 / choice.count);
      }
    }
  }
}

}  // namespace stepcast
