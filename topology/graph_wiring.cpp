#include "topology/graph_wiring.hpp"

#include <algorithm>
#include <cmath>

#include "topology/path_search.hpp"

namespace stepcast {
namespace {

using Kind = WireEnd::Kind;

int count_of(const NodeSpec& node, Kind kind) {
  int count = 0;
  for (const NodeWire& wire : node.wires) {
    for (const WireEnd& end : {wire.first, wire.second})
      if (end.kind == kind) count = std::max(count, end.index + 1);
  }
  return count;
}

void add(NodeWiring& wiring, DeviceKind kind, int index, Kind named) {
  wiring.devices.push_back({kind, 0, index, WireEnd{named, index}.name()});
}

void join(NodeWiring& wiring, LinkKind kind, int a, int b, BytesPerSecond rate) {
  wiring.links.push_back({kind, a, b, rate, Seconds{}});
  wiring.links.push_back({kind, b, a, rate, Seconds{}});
}

void count_nvlinks(NodeWiring& wiring, const NodeSpec& node) {
  const auto gpus = static_cast<std::size_t>(wiring.gpus);
  wiring.nvlinks.assign(gpus * gpus, 0);
  std::vector<int> to_switch(gpus, 0);
  const auto at = [&](int a, int b) -> int& {
    return wiring.nvlinks[static_cast<std::size_t>(a) * gpus + static_cast<std::size_t>(b)];
  };
  for (const NodeWire& wire : node.wires) {
    if (!wire.is_nvlink()) continue;
    const auto [low, high] = std::minmax(wire.first, wire.second);
    if (low.index >= wiring.gpus) continue;
    if (high.kind == Kind::nvswitch) {
      to_switch[static_cast<std::size_t>(low.index)] = wire.links;
    } else if (high.index < wiring.gpus) {
      at(low.index, high.index) += wire.links;
      at(high.index, low.index) += wire.links;
    }
  }
  for (int a = 0; a < wiring.gpus; ++a) {
    for (int b = 0; b < wiring.gpus; ++b)
      if (a != b)
        at(a, b) += std::min(to_switch[static_cast<std::size_t>(a)], to_switch[static_cast<std::size_t>(b)]);
  }
}

/// The nearest host of each GPU, the first among equals.
void find_sockets(NodeWiring& wiring) {
  const PathSearch search(static_cast<int>(wiring.devices.size()), wiring.links);
  for (int gpu = 0; gpu < wiring.gpus; ++gpu) {
    const PathSearch::Row row = search.from(gpu, Reach::bus);
    int best = 0;
    const auto cost = [&](int host) { return row.cost[static_cast<std::size_t>(wiring.first_host + host)]; };
    for (int host = 1; host < wiring.sockets; ++host)
      if (cost(host) < cost(best)) best = host;
    wiring.gpu_socket.push_back(best);
  }
}

std::vector<NicPlace> all_cards(const NodeSpec& node) {
  std::vector<NicPlace> cards;
  for (int card = 0; card < node.nics_default; ++card) cards.push_back({-1, 0, card});
  return cards;
}

/// Cards that are nearest to GPUs in use; when no card is nearest to one of them, those least far from them.
std::vector<int> cards_near(const NodeSpec& node, int gpus_used) {
  const NodeWiring whole = wire_graph(node, node.gpus, all_cards(node));
  const PathSearch search(static_cast<int>(whole.devices.size()), whole.links);
  std::vector<int> near;
  std::vector<double> of_used;
  for (int card = 0; card < whole.nics; ++card) {
    const PathSearch::Row row = search.from(whole.first_nic + card, Reach::bus);
    const auto nearest = [&](int gpus) {
      return *std::min_element(row.cost.begin(), row.cost.begin() + gpus);
    };
    of_used.push_back(nearest(gpus_used));
    if (std::isfinite(of_used.back()) && of_used.back() <= nearest(node.gpus)) near.push_back(card);
  }
  if (!near.empty() || of_used.empty()) return near;
  const double least = *std::min_element(of_used.begin(), of_used.end());
  for (int card = 0; card < whole.nics; ++card)
    if (of_used[static_cast<std::size_t>(card)] <= least) near.push_back(card);
  return near;
}

/// What hangs on a host of a node without cards: the fastest slot that it has.
BytesPerSecond fastest_slot(const NodeSpec& node) {
  BytesPerSecond fastest;
  for (const NodeWire& wire : node.wires) {
    const bool at_host = (wire.first.kind == Kind::host) != (wire.second.kind == Kind::host);
    if (at_host) fastest = std::max(fastest, wire.rate);
  }
  return fastest;
}

}  // namespace

std::vector<NicPlace> place_graph_nics(const NodeSpec& node, int gpus_used, const FabricSpec& fabric) {
  const bool tcp = fabric.transport == Transport::ethernet;
  std::vector<int> cards = tcp ? std::vector<int>{} : cards_near(node, gpus_used);
  if (tcp)
    for (int card = 0; card < node.nics_default; ++card) cards.push_back(card);
  const int count =
      fabric.nics_per_node > 0 ? fabric.nics_per_node : std::max(1, tcp ? 1 : static_cast<int>(cards.size()));
  std::vector<NicPlace> places;
  for (int nic = 0; nic < count; ++nic) {
    const auto at = static_cast<std::size_t>(nic) * cards.size() / static_cast<std::size_t>(count);
    places.push_back({-1, cards.empty() ? nic * node.sockets / count : 0, cards.empty() ? -1 : cards[at]});
  }
  return places;
}

NodeWiring wire_graph(const NodeSpec& node, int gpus_used, const std::vector<NicPlace>& nics) {
  NodeWiring wiring;
  wiring.gpus = gpus_used;
  wiring.sockets = node.sockets;
  wiring.nics = static_cast<int>(nics.size());
  wiring.pcie_switches = count_of(node, Kind::pcie);
  for (int gpu = 0; gpu < gpus_used; ++gpu) add(wiring, DeviceKind::gpu, gpu, Kind::gpu);
  if (count_of(node, Kind::nvswitch) > 0) {
    wiring.nvswitch = static_cast<int>(wiring.devices.size());
    add(wiring, DeviceKind::nvswitch, 0, Kind::nvswitch);
  }
  wiring.first_pcie_switch = static_cast<int>(wiring.devices.size());
  for (int s = 0; s < wiring.pcie_switches; ++s) add(wiring, DeviceKind::pcie_switch, s, Kind::pcie);
  wiring.first_host = static_cast<int>(wiring.devices.size());
  for (int host = 0; host < wiring.sockets; ++host) add(wiring, DeviceKind::host, host, Kind::host);
  wiring.first_nic = static_cast<int>(wiring.devices.size());
  for (int nic = 0; nic < wiring.nics; ++nic) add(wiring, DeviceKind::nic, nic, Kind::nic);

  const auto device = [&](const WireEnd& end) {
    switch (end.kind) {
      case Kind::gpu:
        return end.index < gpus_used ? end.index : -1;
      case Kind::nvswitch:
        return wiring.nvswitch;
      case Kind::pcie:
        return wiring.first_pcie_switch + end.index;
      case Kind::host:
        return wiring.first_host + end.index;
      case Kind::nic:
        break;
    }
    return -1;
  };
  for (const NodeWire& wire : node.wires) {
    const LinkKind kind = wire.is_nvlink()            ? LinkKind::nvlink
                          : wire.is_between_sockets() ? LinkKind::host
                                                      : LinkKind::pcie;
    const auto [low, high] = std::minmax(wire.first, wire.second);
    if (high.kind != Kind::nic) {
      if (device(low) >= 0 && device(high) >= 0) join(wiring, kind, device(low), device(high), wire.rate);
      continue;
    }
    for (int nic = 0; nic < wiring.nics; ++nic)
      if (nics[static_cast<std::size_t>(nic)].card == high.index)
        join(wiring, kind, device(low), wiring.first_nic + nic, wire.rate);
  }
  for (int nic = 0; nic < wiring.nics; ++nic) {
    const NicPlace& place = nics[static_cast<std::size_t>(nic)];
    if (place.card < 0)
      join(wiring, LinkKind::pcie, wiring.first_host + place.socket, wiring.first_nic + nic,
           fastest_slot(node));
    if (!node.nic_rates.empty() && place.card >= 0)
      wiring.nic_rates.push_back(node.nic_rates[static_cast<std::size_t>(place.card)]);
  }
  count_nvlinks(wiring, node);
  find_sockets(wiring);
  return wiring;
}

}  // namespace stepcast
