#include "topology/node_tree.hpp"

#include <algorithm>
#include <deque>
#include <set>

#include "topology/node_toml.hpp"

namespace stepcast {
namespace {

using Kind = WireEnd::Kind;

/// GPUs, then cards, then switches.
int order_of(Kind kind) { return kind == Kind::gpu ? 0 : kind == Kind::nic ? 1 : 2; }

}  // namespace

NodeTree::NodeTree(const NodeSpec& node) {
  std::map<WireEnd, std::vector<Child>> neighbours;
  std::set<WireEnd> roots;
  std::set<WireEnd> nics;
  for (const NodeWire& wire : wires_of(node)) {
    for (const WireEnd& end : {wire.first, wire.second}) {
      if (end.kind == Kind::host) roots.insert(end);
      if (end.kind == Kind::nic) nics.insert(end);
    }
    if (wire.is_nvlink()) {
      nvlinks.push_back(wire);
    } else if (wire.is_between_sockets()) {
      between_sockets.push_back(wire);
    } else {
      neighbours[wire.first].push_back({wire.second, wire.rate});
      neighbours[wire.second].push_back({wire.first, wire.rate});
    }
  }
  hosts = static_cast<int>(roots.size());
  cards = static_cast<int>(nics.size());
  std::deque<WireEnd> open(roots.begin(), roots.end());
  std::set<WireEnd> seen = roots;
  while (!open.empty()) {
    const WireEnd above = open.front();
    open.pop_front();
    for (const Child& child : neighbours[above]) {
      if (!seen.insert(child.device).second) continue;
      parent.emplace(child.device, above);
      children[above].push_back(child);
      open.push_back(child.device);
    }
  }
  for (auto& [above, below] : children) {
    std::sort(below.begin(), below.end(), [](const Child& a, const Child& b) {
      return std::pair(order_of(a.device.kind), a.device.index) <
             std::pair(order_of(b.device.kind), b.device.index);
    });
  }
}

std::vector<WireEnd> NodeTree::way_up(WireEnd device) const {
  std::vector<WireEnd> way{device};
  for (auto up = parent.find(device); up != parent.end(); up = parent.find(way.back()))
    way.push_back(up->second);
  return way;
}

std::string NodeTree::relation(WireEnd a, WireEnd b) const {
  if (a == b) return "X";
  int direct = 0, of_a = 0, of_b = 0;
  for (const NodeWire& wire : nvlinks) {
    const bool at_a = wire.first == a || wire.second == a, at_b = wire.first == b || wire.second == b;
    if (at_a && at_b) direct += wire.links;
    if (wire.second.kind != Kind::nvswitch) continue;
    if (at_a) of_a = wire.links;
    if (at_b) of_b = wire.links;
  }
  if (direct + std::min(of_a, of_b) > 0) return "NV" + std::to_string(direct + std::min(of_a, of_b));
  std::vector<WireEnd> up = way_up(a), other = way_up(b);
  if (up.back() != other.back() || up.back().kind != Kind::host) return "SYS";
  while (up.size() > 1 && other.size() > 1 && up[up.size() - 2] == other[other.size() - 2]) {
    up.pop_back();
    other.pop_back();
  }
  if (up.back().kind == Kind::host) return "PHB";
  return up.size() == 2 && other.size() == 2 ? "PIX" : "PXB";
}

}  // namespace stepcast
