#include "sim/collective/node_paths.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

NodePaths::NodePaths(const Cluster& cluster) : cluster_(cluster) {
  number_links();
  find_nic_links();
  switch_links_.resize(at(cluster_.gpus_per_node()));
  for (std::size_t place = 0; place < links_.front().size(); ++place) {
    const Link& link = cluster_.links()[at(links_.front()[place])];
    if (link.kind != LinkKind::nvlink) continue;
    const Device &from = cluster_.devices()[at(link.from)], &to = cluster_.devices()[at(link.to)];
    if (from.kind == DeviceKind::gpu && to.kind == DeviceKind::nvswitch &&
        from.index < cluster_.gpus_per_node())
      switch_links_[at(from.index)].first.push_back(static_cast<int>(place));
    if (from.kind == DeviceKind::nvswitch && to.kind == DeviceKind::gpu &&
        to.index < cluster_.gpus_per_node())
      switch_links_[at(to.index)].second.push_back(static_cast<int>(place));
  }
}

void NodePaths::number_links() {
  // Two links of different nodes correspond when their ends have the same kind and number and they come in
  // the same order among parallel ones.
  using Key = std::tuple<DeviceKind, int, DeviceKind, int, int>;
  std::vector<std::vector<Key>> keys(at(cluster_.node_count()));
  for (int id = 0; id < static_cast<int>(cluster_.links().size()); ++id) {
    const Link& link = cluster_.links()[at(id)];
    const Device &from = cluster_.devices()[at(link.from)], &to = cluster_.devices()[at(link.to)];
    if (from.node < 0 || from.node != to.node) continue;
    keys[at(from.node)].emplace_back(from.kind, from.index, to.kind, to.index, id);
  }
  place_of_.assign(cluster_.links().size(), -1);
  links_.resize(keys.size());
  for (std::size_t node = 0; node < keys.size(); ++node) {
    std::sort(keys[node].begin(), keys[node].end());
    STEPCAST_CHECK(keys[node].size() == keys.front().size(), "the nodes of the cluster are not alike");
    links_[node].reserve(keys[node].size());
    for (const auto& key : keys[node]) {
      const int id = std::get<4>(key);
      place_of_[at(id)] = static_cast<int>(links_[node].size());
      links_[node].push_back(id);
    }
  }
}

void NodePaths::find_nic_links() {
  const std::size_t nics = at(cluster_.node_count()) * at(cluster_.nics_per_node());
  nic_up_.assign(nics, -1);
  nic_down_.assign(nics, -1);
  for (int id = 0; id < static_cast<int>(cluster_.links().size()); ++id) {
    const Link& link = cluster_.links()[at(id)];
    const Device &from = cluster_.devices()[at(link.from)], &to = cluster_.devices()[at(link.to)];
    if (from.kind == DeviceKind::nic && to.node < 0) nic_up_[nic_place(from.node, from.index)] = id;
    if (to.kind == DeviceKind::nic && from.node < 0) nic_down_[nic_place(to.node, to.index)] = id;
  }
}

LocalPath NodePaths::places(const std::vector<int>& route, int node) const {
  LocalPath path;
  for (const int id : route) {
    if (place_of_[at(id)] < 0) continue;
    if (cluster_.devices()[at(cluster_.links()[at(id)].from)].node == node) path.push_back(place_of_[at(id)]);
  }
  return path;
}

const LocalPath& NodePaths::between(int local_rank, int peer) const {
  const auto [entry, fresh] = between_.try_emplace({local_rank, peer});
  if (fresh)
    entry->second = places(cluster_.route(cluster_.gpu_device(local_rank), cluster_.gpu_device(peer)), 0);
  return entry->second;
}

const LocalPath& NodePaths::to_nic(int local_rank, int nic) const {
  STEPCAST_CHECK(cluster_.node_count() > 1, "a network path on a cluster of one node");
  const auto [entry, fresh] = to_nic_.try_emplace({local_rank, nic});
  if (fresh)
    entry->second =
        places(cluster_.network_route(local_rank, nic, cluster_.gpus_per_node() + local_rank, nic), 0);
  return entry->second;
}

const LocalPath& NodePaths::from_nic(int nic, int local_rank) const {
  STEPCAST_CHECK(cluster_.node_count() > 1, "a network path on a cluster of one node");
  const auto [entry, fresh] = from_nic_.try_emplace({nic, local_rank});
  if (fresh)
    entry->second =
        places(cluster_.network_route(local_rank, nic, cluster_.gpus_per_node() + local_rank, nic), 1);
  return entry->second;
}

const std::pair<LocalPath, LocalPath>& NodePaths::switch_links(int local_rank) const {
  return switch_links_[at(local_rank)];
}

bool NodePaths::all_nvlink(const LocalPath& path) const {
  return std::all_of(path.begin(), path.end(), [&](int place) {
    return cluster_.links()[at(link(0, place))].kind == LinkKind::nvlink;
  });
}

bool NodePaths::any_nvlink(const LocalPath& path) const {
  return std::any_of(path.begin(), path.end(), [&](int place) {
    return cluster_.links()[at(link(0, place))].kind == LinkKind::nvlink;
  });
}

bool NodePaths::through_host(const LocalPath& path) const {
  return std::any_of(path.begin(), path.end(), [&](int place) {
    return cluster_.devices()[at(cluster_.links()[at(link(0, place))].to)].kind == DeviceKind::host;
  });
}

const std::vector<int>& NodePaths::nics_of(int local_rank) const {
  const auto [entry, fresh] = nics_of_.try_emplace(local_rank);
  if (!fresh) return entry->second;
  std::vector<int>& nics = entry->second;
  for (int nic = 0; nic < cluster_.nics_per_node(); ++nic)
    if (cluster_.gpu_near_nic(nic) == local_rank) nics.push_back(nic);
  if (nics.empty()) {
    const auto near = cluster_.nics_near(local_rank);
    STEPCAST_CHECK(!near.empty(), "a collective across nodes that have no NIC");
    nics.push_back(near.front());
  }
  return nics;
}

std::size_t NodePaths::nic_place(int node, int nic) const {
  return at(node) * at(cluster_.nics_per_node()) + at(nic);
}

int NodePaths::nic_up(int node, int nic) const { return nic_up_[nic_place(node, nic)]; }
int NodePaths::nic_down(int node, int nic) const { return nic_down_[nic_place(node, nic)]; }

const FabricPath& NodePaths::fabric(int node, int nic, int peer_node, int peer_nic) const {
  const int up = nic_up(node, nic), down = nic_down(peer_node, peer_nic);
  STEPCAST_CHECK(up >= 0 && down >= 0, "a NIC without a cable");
  const int leaf = cluster_.links()[at(up)].to, peer_leaf = cluster_.links()[at(down)].from;
  static const FabricPath none;
  if (leaf == peer_leaf) return none;
  // Sprayed flows of two leaves all share one way; others are hashed, each pair of NICs by itself.
  const bool alike = cluster_.request().routing == "spray";
  const auto [entry, fresh] = fabric_.try_emplace(alike ? std::pair(leaf, peer_leaf) : std::pair(up, down));
  if (!fresh) return entry->second;
  for (const int id :
       cluster_.route(cluster_.nic_device(node, nic), cluster_.nic_device(peer_node, peer_nic)))
    if (id != up && id != down) entry->second.links.push_back(id);
  STEPCAST_CHECK(!entry->second.links.empty(), "two NICs that no switch connects");
  entry->second.further_switches = static_cast<int>(entry->second.links.size());
  return entry->second;
}

bool NodePaths::gpudirect() const { return cluster_.gpudirect(); }

bool NodePaths::rails() const { return cluster_.request().topology.rfind("rail", 0) == 0; }

}  // namespace stepcast
