#include "topology/node_graph.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace stepcast {

NodeGraph::NodeGraph(const NodeSpec& node, int gpus_used, const std::vector<NicPlace>& nics,
                     const std::vector<LinkFault>& faults)
    : wiring_(wire_node(node, gpus_used, nics)),
      health_(damage(wiring_, faults)),
      peer_to_peer_(node.pcie_peer_to_peer),
      search_(static_cast<int>(wiring_.devices.size()), wiring_.links),
      rows_(std::make_unique<Rows[]>(3 * wiring_.devices.size())) {
  find_feeders();
}

const PathSearch::Row& NodeGraph::row(int from, Reach reach) const {
  Rows& kept = rows_[static_cast<std::size_t>(3 * from + static_cast<int>(reach))];
  std::call_once(kept.once, [&] { kept.row = search_.from(from, reach); });
  return kept.row;
}

std::vector<int> NodeGraph::search(int from, int to, Reach reach) const {
  return search_.path(row(from, reach), to);
}

std::vector<int> NodeGraph::bus(int from, int to) const {
  std::vector<int> links = search(from, to, Reach::bus);
  // Boards without a common host bus (NVL72) reach each other only through their GPUs.
  return links.empty() ? search(from, to, Reach::all) : links;
}

double NodeGraph::bus_cost(int from, int to) const {
  return row(from, Reach::bus).cost[static_cast<std::size_t>(to)];
}

double NodeGraph::distance(int from, int to) const {
  constexpr double through_host = 5000;  // above any chain of switches, below one way between sockets
  const std::vector<int> links = search(from, to, Reach::bus);
  const auto hosts = std::count_if(links.begin(), links.end(), [&](int link) {
    const auto end = static_cast<std::size_t>(wiring_.links[static_cast<std::size_t>(link)].to);
    return wiring_.devices[end].kind == DeviceKind::host;
  });
  return bus_cost(from, to) + (hosts > 0 ? through_host : 0);
}

std::vector<int> NodeGraph::path(int from, int to) const {
  if (from == to) return {};
  const bool both_gpus = from < wiring_.gpus && to < wiring_.gpus;
  if (!both_gpus) {
    const bool to_nvswitch = from == wiring_.nvswitch || to == wiring_.nvswitch;
    return to_nvswitch ? search(from, to, Reach::all) : bus(from, to);
  }
  std::vector<int> links = search(from, to, Reach::nvlink);
  if (!links.empty() || peer_to_peer_) return links.empty() ? bus(from, to) : links;
  const int host = wiring_.first_host + wiring_.gpu_socket[static_cast<std::size_t>(from)];
  links = bus(from, host);
  const std::vector<int> down = bus(host, to);
  links.insert(links.end(), down.begin(), down.end());
  return links;
}

std::vector<int> NodeGraph::to_nic(int gpu, int nic, bool gpudirect, bool pxn) const {
  const int card = wiring_.first_nic + nic;
  std::vector<int> links;
  int from = gpu;
  if (gpudirect) {
    const int feeder = gpu_near_nic(nic);
    if (pxn && feeder >= 0 && distance(gpu, card) > distance(feeder, card)) {
      links = search(gpu, feeder, Reach::nvlink);
      if (!links.empty()) from = feeder;
    }
  } else {
    from = wiring_.first_host + wiring_.gpu_socket[static_cast<std::size_t>(gpu)];
    links = bus(gpu, from);
  }
  const std::vector<int> rest = bus(from, card);
  links.insert(links.end(), rest.begin(), rest.end());
  return links;
}

std::vector<int> NodeGraph::from_nic(int nic, int gpu, bool gpudirect) const {
  const int card = wiring_.first_nic + nic;
  if (gpudirect) return bus(card, gpu);
  const int host = wiring_.first_host + wiring_.gpu_socket[static_cast<std::size_t>(gpu)];
  std::vector<int> links = bus(card, host);
  const std::vector<int> rest = bus(host, gpu);
  links.insert(links.end(), rest.begin(), rest.end());
  return links;
}

std::vector<int> NodeGraph::nics_near(int gpu) const {
  std::vector<int> order;
  for (int nic = 0; nic < wiring_.nics; ++nic)
    if (gpu_near_nic(nic) >= 0) order.push_back(nic);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return distance(gpu, wiring_.first_nic + a) < distance(gpu, wiring_.first_nic + b);
  });
  return order;
}

bool NodeGraph::nvlink_everywhere() const {
  const PathSearch::Row& reached = row(0, Reach::nvlink);  // links are laid in both directions
  return std::all_of(reached.cost.begin(), reached.cost.begin() + wiring_.gpus,
                     [](double cost) { return std::isfinite(cost); });
}

void NodeGraph::find_feeders() {
  std::vector<int> fed(static_cast<std::size_t>(wiring_.gpus), 0);
  for (int nic = 0; nic < wiring_.nics; ++nic) {
    const PathSearch::Row& distances = row(wiring_.first_nic + nic, Reach::bus);
    const auto reached = [&](int gpu) {
      return std::isfinite(distances.cost[static_cast<std::size_t>(gpu)]);
    };
    bool any = false;
    for (int gpu = 0; gpu < wiring_.gpus; ++gpu) any = any || reached(gpu);
    if (!any || nic_remaining(nic) <= 0) {
      feeder_.push_back(-1);
      continue;
    }
    int best = 0;
    const auto rank = [&](int gpu) {
      return std::tuple(distance(wiring_.first_nic + nic, gpu), fed[static_cast<std::size_t>(gpu)], gpu);
    };
    for (int gpu = 1; gpu < wiring_.gpus; ++gpu) {
      if (rank(gpu) < rank(best)) best = gpu;
    }
    ++fed[static_cast<std::size_t>(best)];
    feeder_.push_back(best);
  }
}

}  // namespace stepcast
