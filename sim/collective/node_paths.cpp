#include "sim/collective/node_paths.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

NodePaths::NodePaths(const Cluster& cluster) : cluster_(cluster), switch_links_(at(cluster.node_classes())) {
  find_nic_links();
  std::vector<bool> seen(at(cluster.node_classes()), false);
  for (int node = 0; node < cluster.node_count(); ++node) {
    if (seen[at(class_of(node))]) continue;
    seen[at(class_of(node))] = true;
    find_switch_links(node);
  }
}

void NodePaths::find_switch_links(int node) {
  auto& found = switch_links_[at(class_of(node))];
  found.resize(at(cluster_.gpus_per_node()));
  const auto links = cluster_.links();
  const auto devices = cluster_.devices();
  for (int id = cluster_.first_link(node); id < static_cast<int>(links.size()); ++id) {
    const Device &from = devices[at(links[at(id)].from)], &to = devices[at(links[at(id)].to)];
    if (from.node != node || to.node != node) break;  // a node's own links stand together
    if (links[at(id)].kind != LinkKind::nvlink || !(links[at(id)].capacity.value > 0)) continue;
    const int place = id - cluster_.first_link(node);
    if (from.kind == DeviceKind::gpu && to.kind == DeviceKind::nvswitch)
      found[at(from.index)].first.push_back(place);
    if (from.kind == DeviceKind::nvswitch && to.kind == DeviceKind::gpu)
      found[at(to.index)].second.push_back(place);
  }
}

void NodePaths::find_nic_links() {
  int nics = 0;
  for (int node = 0; node < cluster_.node_count(); ++node) {
    first_nic_.push_back(nics);
    nics += cluster_.nics_of_node(node);
  }
  nic_up_.assign(at(nics), -1);
  nic_down_.assign(at(nics), -1);
  for (int id = 0; id < static_cast<int>(cluster_.links().size()); ++id) {
    const Link& link = cluster_.links()[at(id)];
    if (link.kind != LinkKind::nic) continue;
    const Device &from = cluster_.devices()[at(link.from)], &to = cluster_.devices()[at(link.to)];
    if (from.kind == DeviceKind::nic) nic_up_[at(first_nic_[at(from.node)] + from.index)] = id;
    if (to.kind == DeviceKind::nic) nic_down_[at(first_nic_[at(to.node)] + to.index)] = id;
  }
}

LocalPath NodePaths::places(const std::vector<int>& route, int node) const {
  LocalPath path;
  path.reserve(route.size());
  for (const int id : route) {
    const Link& link = cluster_.links()[at(id)];
    const Device &from = cluster_.devices()[at(link.from)], &to = cluster_.devices()[at(link.to)];
    if (from.node == node && to.node == node) path.push_back(id - cluster_.first_link(node));
  }
  return path;
}

const LocalPath& NodePaths::between(int node, int local_rank, int peer) const {
  const auto [entry, fresh] = between_.try_emplace({class_of(node), local_rank, peer});
  if (fresh) {
    const int first = node * cluster_.gpus_per_node();
    entry->second = places(
        cluster_.route(cluster_.gpu_device(first + local_rank), cluster_.gpu_device(first + peer)), node);
  }
  return entry->second;
}

LocalPath NodePaths::crossing(int node, int local_rank, int nic, bool out) const {
  STEPCAST_CHECK(cluster_.node_count() > 1, "a network path on a cluster of one node");
  return places(
      out ? cluster_.way_to_nic(node, local_rank, nic) : cluster_.way_from_nic(node, nic, local_rank), node);
}

const LocalPath& NodePaths::to_nic(int node, int local_rank, int nic) const {
  const auto [entry, fresh] = to_nic_.try_emplace({class_of(node), local_rank, nic});
  if (fresh) entry->second = crossing(node, local_rank, nic, true);
  return entry->second;
}

const LocalPath& NodePaths::from_nic(int node, int nic, int local_rank) const {
  const auto [entry, fresh] = from_nic_.try_emplace({class_of(node), nic, local_rank});
  if (fresh) entry->second = crossing(node, local_rank, nic, false);
  return entry->second;
}

const std::pair<LocalPath, LocalPath>& NodePaths::switch_links(int node, int local_rank) const {
  return switch_links_[at(class_of(node))][at(local_rank)];
}

bool NodePaths::all_nvlink(int node, const LocalPath& path) const {
  return std::all_of(path.begin(), path.end(), [&](int place) {
    return cluster_.links()[at(link(node, place))].kind == LinkKind::nvlink;
  });
}

bool NodePaths::any_nvlink(int node, const LocalPath& path) const {
  return std::any_of(path.begin(), path.end(), [&](int place) {
    return cluster_.links()[at(link(node, place))].kind == LinkKind::nvlink;
  });
}

bool NodePaths::through_host(int node, const LocalPath& path) const {
  return std::any_of(path.begin(), path.end(), [&](int place) {
    return cluster_.devices()[at(cluster_.links()[at(link(node, place))].to)].kind == DeviceKind::host;
  });
}

const std::vector<int>& NodePaths::nics_of(int node, int local_rank) const {
  const auto [entry, fresh] = nics_of_.try_emplace({class_of(node), local_rank});
  if (!fresh) return entry->second;
  std::vector<int>& nics = entry->second;
  for (int nic = 0; nic < cluster_.nics_of_node(node); ++nic)
    if (cluster_.gpu_near_nic(nic, node) == local_rank) nics.push_back(nic);
  if (nics.empty()) {
    const auto near = cluster_.nics_near(local_rank, node);
    STEPCAST_CHECK(!near.empty(), "a collective across nodes that have no NIC");
    nics.push_back(near.front());
  }
  return nics;
}

bool NodePaths::has_nic(int node, int nic) const {
  return nic < cluster_.nics_of_node(node) && cluster_.gpu_near_nic(nic, node) >= 0;
}

BytesPerSecond NodePaths::nic_rate(int node, int nic) const {
  return cluster_.links()[at(nic_up(node, nic))].capacity;
}

int NodePaths::nic_up(int node, int nic) const { return nic_up_[at(first_nic_[at(node)] + nic)]; }
int NodePaths::nic_down(int node, int nic) const { return nic_down_[at(first_nic_[at(node)] + nic)]; }

std::pair<int, int> NodePaths::doors(int node, int nic, int peer_node, int peer_nic) const {
  const auto works = [&](int out, int in) {
    return has_nic(node, out) && has_nic(peer_node, in) && cluster_.connected(node, out, peer_node, in);
  };
  if (works(nic, peer_nic)) return {nic, peer_nic};
  if (works(peer_nic, peer_nic)) return {peer_nic, peer_nic};
  if (works(nic, nic)) return {nic, nic};
  for (int out = 0; out < cluster_.nics_of_node(node); ++out)
    for (int in = 0; in < cluster_.nics_of_node(peer_node); ++in)
      if (works(out, in)) return {out, in};
  throw std::invalid_argument("the network does not lead from node" + std::to_string(node) + " to node" +
                              std::to_string(peer_node));
}

const FabricPath& NodePaths::fabric(int node, int nic, int peer_node, int peer_nic) const {
  const int up = nic_up(node, nic), down = nic_down(peer_node, peer_nic);
  STEPCAST_CHECK(up >= 0 && down >= 0, "a NIC without a cable");
  const int leaf = cluster_.links()[at(up)].to, peer_leaf = cluster_.links()[at(down)].from;
  static const FabricPath none;
  if (leaf == peer_leaf) return none;
  // Sprayed flows of two leaves all share their ways; others are hashed, each pair of NICs by itself.
  const bool alike = cluster_.request().routing == "spray";
  const auto [entry, fresh] = fabric_.try_emplace(alike ? std::pair(leaf, peer_leaf) : std::pair(up, down));
  if (!fresh) return entry->second;
  FabricPath& found = entry->second;
  for (const FlowShare& share : cluster_.fabric_flow(node, nic, peer_node, peer_nic)) {
    if (share.link == up || share.link == down) continue;
    found.links.push_back(share);
    found.further_switches += share.share;
  }
  STEPCAST_CHECK(!found.links.empty(), "two NICs that no switch connects");
  return found;
}

bool NodePaths::gpudirect() const { return cluster_.gpudirect(); }

bool NodePaths::rails() const { return cluster_.request().topology.rfind("rail", 0) == 0; }

}  // namespace stepcast
