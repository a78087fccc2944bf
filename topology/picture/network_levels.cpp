#include "topology/picture/network_levels.hpp"

#include <algorithm>

namespace stepcast {
namespace {

void add(NetworkLevels::Cables& to, BytesPerSecond rate) {
  to.least = to.count == 0 ? rate : std::min(to.least, rate);
  to.most = std::max(to.most, rate);
  to.sum += rate;
  ++to.count;
}

}  // namespace

NetworkLevels::NetworkLevels(const Cluster& cluster) {
  const auto devices = cluster.devices();
  const auto links = cluster.links();
  const auto at = [](int device) { return static_cast<std::size_t>(device); };
  level_of.assign(devices.size(), -1);
  up_of.assign(devices.size(), {});
  down_of.assign(devices.size(), {});
  std::vector<std::vector<int>> neighbours(devices.size());
  std::vector<int> level;
  for (const Link& link : links) {
    if (link.kind == LinkKind::nic && devices[at(link.from)].kind == DeviceKind::nic) {
      add(cards, link.capacity);
      down_of[at(link.to)] += link.capacity;
      if (level_of[at(link.to)] < 0) level.push_back(link.to);
      level_of[at(link.to)] = 0;
    } else if (link.kind == LinkKind::fabric) {
      neighbours[at(link.from)].push_back(link.to);
    }
  }
  // Dead ends are cut off again and again, until every way leads to cards.
  std::vector<int> dead;
  std::vector<std::size_t> ways(devices.size());
  std::vector<bool> cut(devices.size(), false);
  const auto is_dead = [&](int device) {
    return devices[at(device)].node < 0 && level_of[at(device)] < 0 && !cut[at(device)] &&
           ways[at(device)] <= 1;
  };
  for (std::size_t device = 0; device < devices.size(); ++device) ways[device] = neighbours[device].size();
  for (std::size_t device = 0; device < devices.size(); ++device)
    if (is_dead(static_cast<int>(device))) dead.push_back(static_cast<int>(device));
  while (!dead.empty()) {
    const int device = dead.back();
    dead.pop_back();
    if (!is_dead(device)) continue;
    cut[at(device)] = true;
    ++left_out;
    for (const int peer : neighbours[at(device)]) {
      --ways[at(peer)];
      if (is_dead(peer)) dead.push_back(peer);
    }
  }
  while (!level.empty()) {
    std::sort(level.begin(), level.end());
    switches.push_back(level);
    std::vector<int> next;
    for (const int device : level)
      for (const int peer : neighbours[at(device)])
        if (level_of[at(peer)] < 0 && !cut[at(peer)]) {
          level_of[at(peer)] = static_cast<int>(switches.size());
          next.push_back(peer);
        }
    level = std::move(next);
  }
  up.resize(switches.size());
  for (const Link& link : links) {
    if (link.kind != LinkKind::fabric) continue;
    const int from = level_of[at(link.from)], to = level_of[at(link.to)];
    if (from < 0 || to < 0) continue;
    if (to == from + 1) {
      add(up[at(from)], link.capacity);
      up_of[at(link.from)] += link.capacity;
      down_of[at(link.to)] += link.capacity;
    } else if (to == from && link.from < link.to) {
      add(within, link.capacity);
    }
  }
}

}  // namespace stepcast
