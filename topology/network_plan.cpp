#include "topology/network_plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// By switch: whether the name stands for it.
std::vector<bool> named(const NetworkPlan& plan, const std::string& name) {
  std::vector<bool> hit(plan.switches.size(), false);
  bool any = false;
  for (std::size_t s = 0; s < plan.switches.size(); ++s) {
    const NetworkSwitch& one = plan.switches[s];
    hit[s] = one.name == name || (one.bundle >= 0 && plan.bundles[at(one.bundle)] == name);
    any = any || hit[s];
  }
  if (any) return hit;
  std::vector<std::string> known = plan.bundles;
  for (const NetworkSwitch& one : plan.switches) known.push_back(one.name);
  const std::string nearest = nearest_name(name, known);
  std::string hint = "did you mean \"" + nearest + "\"?";
  if (nearest.empty()) {
    hint = "it has " + plan.switches.front().name;
    if (plan.switches.size() > 1) hint += " to " + plan.switches.back().name;
  }
  throw std::invalid_argument("the network has no \"" + name + "\": " + hint);
}

}  // namespace

int NetworkPlan::add_switch(DeviceKind kind, std::string name, int bundle) {
  switches.push_back({std::move(name), kind, bundle});
  return static_cast<int>(switches.size()) - 1;
}

int NetworkPlan::add_bundle(std::string name) {
  bundles.push_back(std::move(name));
  return static_cast<int>(bundles.size()) - 1;
}

std::vector<double> damage(NetworkPlan& plan, const std::vector<LinkFault>& faults) {
  std::vector<double> ports(plan.switch_of.size(), 1.0);
  for (const LinkFault& fault : faults) {
    const FaultEnds ends = ends_of(fault.at);
    const std::vector<bool> first = named(plan, ends.first);
    if (ends.second.empty()) {
      for (NetworkCable& cable : plan.cables)
        if (first[at(cable.a)] || first[at(cable.b)]) cable.rate = fault.remaining * cable.rate;
      for (std::size_t port = 0; port < ports.size(); ++port)
        if (first[at(plan.switch_of[port])]) ports[port] *= fault.remaining;
      continue;
    }
    const std::vector<bool> second = named(plan, ends.second);
    bool found = false;
    for (NetworkCable& cable : plan.cables) {
      const bool between =
          (first[at(cable.a)] && second[at(cable.b)]) || (first[at(cable.b)] && second[at(cable.a)]);
      if (!between) continue;
      found = true;
      cable.rate = fault.remaining * cable.rate;
    }
    if (!found) throw std::invalid_argument("no link joins " + ends.first + " and " + ends.second);
  }
  return ports;
}

NetworkPlan bundled(const NetworkPlan& plan) {
  NetworkPlan merged;
  std::vector<int> of_bundle(plan.bundles.size(), -1), of_switch;
  for (const NetworkSwitch& one : plan.switches) {
    if (one.bundle < 0) {
      of_switch.push_back(merged.add_switch(one.kind, one.name));
      continue;
    }
    int& together = of_bundle[at(one.bundle)];
    if (together < 0) together = merged.add_switch(one.kind, plan.bundles[at(one.bundle)]);
    of_switch.push_back(together);
  }
  std::map<std::pair<int, int>, std::size_t> place;
  for (const NetworkCable& cable : plan.cables) {
    const int a = of_switch[at(cable.a)], b = of_switch[at(cable.b)];
    const auto [entry, fresh] = place.try_emplace(std::minmax(a, b), merged.cables.size());
    if (fresh)
      merged.cables.push_back({a, b, cable.rate});
    else
      merged.cables[entry->second].rate += cable.rate;
  }
  for (const int one : plan.switch_of) merged.switch_of.push_back(of_switch[at(one)]);
  return merged;
}

LeafPlaces place_leaves(const ClusterRequest& request, const std::vector<FabricPort>& ports) {
  LeafPlaces places;
  int nics_per_node = 1;
  for (const FabricPort& port : ports) nics_per_node = std::max(nics_per_node, port.nic + 1);
  places.most_down = std::max(1, request.fabric.leaf_ports / 2);
  const int nodes_per_leaf = std::max(1, places.most_down / nics_per_node);
  const int leaves_per_node = (nics_per_node + places.most_down - 1) / places.most_down;
  const bool one_switch = request.topology == "single-switch", apart = request.topology == "rail-only";
  const bool rails = request.topology == "rail-optimized";
  places.unit = rails ? nics_per_node : leaves_per_node;
  std::vector<int> members;
  for (const FabricPort& port : ports) {
    int leaf = 0;
    if (apart)
      leaf = port.nic;
    else if (rails)
      leaf = port.node / places.most_down * nics_per_node + port.nic;
    else if (!one_switch)
      leaf = leaves_per_node > 1 ? port.node * leaves_per_node + port.nic / places.most_down
                                 : port.node / nodes_per_leaf;
    places.leaf_of.push_back(leaf);
    if (leaf >= places.leaves) members.resize(at(places.leaves = leaf + 1), 0);
    places.fullest = std::max(places.fullest, ++members[at(leaf)]);
  }
  return places;
}

Uplinks uplinks_of(double down, double oversubscription, BytesPerSecond rate) {
  const double wanted = down / oversubscription;
  Uplinks up;
  up.count = std::max(1, static_cast<int>(std::ceil(wanted - 1e-9)));
  up.each = (wanted / up.count) * rate;
  return up;
}

}  // namespace stepcast
