#include "sim/collective/node_lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/collective/mesh_rings.hpp"

namespace stepcast {
namespace {

bool is_mesh(const NodePaths& paths, int node) {
  return paths.cluster().node_spec(node).nvlink == NodeSpec::Nvlink::mesh;
}

Connections connections_of(const NodePaths& paths, int node) {
  return [&cluster = paths.cluster(), node](int a, int b) { return cluster.nvlink_connections(a, b, node); };
}

std::vector<Lane> lanes_inside(const NodePaths& paths, int node, const std::vector<int>& members) {
  if (is_mesh(paths, node) && members.size() > 1) {
    std::vector<Lane> lanes;
    for (const auto& cycle : disjoint_cycles(members, connections_of(paths, node))) {
      lanes.push_back({-1, cycle});
      lanes.push_back({-1, {cycle.rbegin(), cycle.rend()}});
    }
    if (!lanes.empty()) return lanes;
  }
  return {{-1, members}};
}

/// How a GPU gets to a NIC, best first.
enum class Access { pcie_switch, over_nvlink, through_host };

Access access(const NodePaths& paths, int node, int local_rank, int nic) {
  const LocalPath& path = paths.to_nic(node, local_rank, nic);
  if (paths.through_host(node, path)) return Access::through_host;
  return paths.any_nvlink(node, path) ? Access::over_nvlink : Access::pcie_switch;
}

/// The members other than the entry with the best access to the NIC, shortest paths first.
std::vector<int> best_exits(const NodePaths& paths, int node, const std::vector<int>& members, int entry,
                            int nic) {
  std::vector<int> exits;
  for (const int member : members)
    if (member != entry) exits.push_back(member);
  const auto rank = [&](int member) {
    return std::pair(access(paths, node, member, nic), paths.to_nic(node, member, nic).size());
  };
  std::stable_sort(exits.begin(), exits.end(), [&](int a, int b) { return rank(a) < rank(b); });
  const Access best = access(paths, node, exits.front(), nic);
  std::erase_if(exits, [&](int member) { return access(paths, node, member, nic) != best; });
  return exits;
}

/// Entry first, then the members that follow it in the group's order, the exit last.
std::vector<int> rotated(const std::vector<int>& members, int entry, int exit) {
  auto order = members;
  std::rotate(order.begin(), std::find(order.begin(), order.end(), entry), order.end());
  std::rotate(std::find(order.begin(), order.end(), exit), std::find(order.begin(), order.end(), exit) + 1,
              order.end());
  return order;
}

struct Door {
  int nic{}, entry{};
};

/// The k fastest, k times the slowest of them being greatest.
void drop_slow_doors(const NodePaths& paths, int node, std::vector<Door>& doors) {
  const auto rate = [&](const Door& door) { return paths.nic_rate(node, door.nic); };
  std::stable_sort(doors.begin(), doors.end(),
                   [&](const Door& a, const Door& b) { return rate(a) > rate(b); });
  std::size_t keep = 0;
  double most = 0;
  for (std::size_t k = 1; k <= doors.size(); ++k) {
    const double together = static_cast<double>(k) * rate(doors[k - 1]).value;
    if (together < most) continue;
    most = together;
    keep = k;
  }
  doors.resize(keep);
}

std::vector<Door> doors_of(const NodePaths& paths, int node, const std::vector<int>& members) {
  std::vector<Door> doors;
  for (const int member : members)
    for (const int nic : paths.nics_of(node, member)) {
      const auto same =
          std::find_if(doors.begin(), doors.end(), [&](const Door& door) { return door.nic == nic; });
      if (same == doors.end())
        doors.push_back({nic, member});
      else if (paths.cluster().gpu_near_nic(nic, node) == member)
        same->entry = member;
    }
  drop_slow_doors(paths, node, doors);
  std::sort(doors.begin(), doors.end(), [](const Door& a, const Door& b) { return a.nic < b.nic; });
  return doors;
}

/// On a mesh the order is a walk along NVLinks, spread over them; a lane without one keeps its order.
void follow_mesh(const NodePaths& paths, int node, const std::vector<int>& members,
                 std::vector<Lane>& lanes) {
  std::vector<PathWish> wishes;
  for (const auto& lane : lanes) {
    PathWish wish{lane.order.front(), best_exits(paths, node, members, lane.order.front(), lane.nic), {}};
    for (const int member : members)
      if (member != wish.entry) wish.other_exits.push_back(member);
    wishes.push_back(std::move(wish));
  }
  const auto orders = spread_paths(members, wishes, connections_of(paths, node));
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (!orders[i].empty()) lanes[i].order = orders[i];
}

}  // namespace

std::vector<Lane> node_lanes(const NodePaths& paths, int node, const std::vector<int>& members,
                             bool across_nodes) {
  if (!across_nodes) return lanes_inside(paths, node, members);
  std::vector<Lane> lanes;
  for (const auto& [nic, entry] : doors_of(paths, node, members)) {
    Lane lane{nic, {entry}};
    if (members.size() > 1) {
      const auto exits = best_exits(paths, node, members, entry, nic);
      // By NVLink any will do: the one before the entry, so that the lanes of several NICs leave from
      // different GPUs.
      const auto place = std::find(members.begin(), members.end(), entry);
      const int before = place == members.begin() ? members.back() : *(place - 1);
      const bool any = access(paths, node, exits.front(), nic) == Access::over_nvlink &&
                       std::find(exits.begin(), exits.end(), before) != exits.end();
      lane.order = rotated(members, entry, any ? before : exits.front());
    }
    lanes.push_back(std::move(lane));
  }
  if (is_mesh(paths, node) && members.size() > 1) follow_mesh(paths, node, members, lanes);
  return lanes;
}

}  // namespace stepcast
