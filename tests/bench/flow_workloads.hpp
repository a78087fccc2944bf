#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/flow_set.hpp"
#include "topology/cluster.hpp"

namespace stepcast::bench {

/// Hosts with one port each, `per_leaf` on a leaf switch that has `uplinks` to as many spines.
struct FatTree {
  int hosts{}, per_leaf{}, uplinks{};
  int link_microseconds{};  ///< latency of every link on a path
};

inline constexpr double link_rate = 50e9;                  ///< bytes per second, each way
inline constexpr double payload = 64.0 * 1024.0 * 1024.0;  ///< bytes per rank

inline Cluster cluster_of(const FatTree& tree) {
  ClusterRequest request;
  request.nodes = tree.hosts;
  request.node = load_node("hgx-h100", {});
  request.gpus_per_node = 1;
  request.fabric = load_fabric("infiniband-400g", {});
  request.fabric.link_rate = BytesPerSecond(link_rate);
  request.fabric.nics_per_node = 1;
  request.fabric.leaf_ports = 2 * tree.per_leaf;
  request.topology = "leaf-spine";
  request.routing = "static";  // D-mod-K
  request.oversubscription = static_cast<double>(tree.per_leaf) / tree.uplinks;
  return Cluster(request);
}

/// Flows between the network ports of a cluster, at the links' raw rates and without latencies.
class PortFlows {
 public:
  explicit PortFlows(const FatTree& tree)
      : cluster_(cluster_of(tree)),
        link_latency_(tree.link_microseconds * Picoseconds{1'000'000}),
        set_(resources()) {}

  int path(int from, int to) {
    loads_.clear();
    for (const int link : cluster_.route(cluster_.nic_device(from, 0), cluster_.nic_device(to, 0)))
      loads_.push_back({link, 1});
    return set_.add_path(loads_);
  }
  [[nodiscard]] Picoseconds latency(int path) const {
    return link_latency_ * set_.paths()[static_cast<std::size_t>(path)].load_count;
  }
  FlowSet& set() { return set_; }

 private:
  [[nodiscard]] std::vector<Resource> resources() const {
    std::vector<Resource> all;
    for (const Link& link : cluster_.links())
      all.push_back({link.capacity.value, static_cast<int>(all.size()), 1});
    return all;
  }
  Cluster cluster_;
  Picoseconds link_latency_;
  FlowSet set_;
  std::vector<Load> loads_;
};

/// 2 (n - 1) steps of payload / n, at most `steps` of them: a host sends its next chunk when it has sent the
/// last one and has received the one before.
inline FlowSet ring_all_reduce(const FatTree& tree, int steps = 1 << 30) {
  PortFlows flows(tree);
  const int n = tree.hosts;
  steps = std::min(steps, 2 * (n - 1));
  const std::size_t count = static_cast<std::size_t>(n) * static_cast<std::size_t>(steps);
  flows.set().reserve(count, 2 * count);
  std::vector<int> paths;
  for (int host = 0; host < n; ++host) paths.push_back(flows.path(host, (host + 1) % n));
  for (int step = 0; step < steps; ++step) {
    for (int host = 0; host < n; ++host) {
      const int before = (step - 1) * n;
      const int waits[] = {before + host, before + (host + n - 1) % n};
      const int path = paths[static_cast<std::size_t>(host)];
      flows.set().add_flow(path, payload / n, flows.latency(path),
                           step > 0 ? std::span<const int>(waits) : std::span<const int>());
    }
  }
  return std::move(flows.set());
}

/// Whole bytes from one host to another: payload / n, or (uneven) half of that to three halves.
inline double exchange_bytes(const FatTree& tree, bool uneven, int from, int to) {
  if (!uneven) return payload / tree.hosts;
  const int place = (from * 7919 + to * 104729) % 1009;  // primes: no pattern that the routes share
  return std::floor(payload / tree.hosts * (0.5 + place / 1009.0));
}

/// From every host to every other one, all at once.
inline FlowSet all_to_all(const FatTree& tree, bool uneven = false) {
  PortFlows flows(tree);
  const int n = tree.hosts;
  flows.set().reserve(static_cast<std::size_t>(n) * static_cast<std::size_t>(n - 1), 0);
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to)
      if (from != to) flows.set().add_flow(flows.path(from, to), exchange_bytes(tree, uneven, from, to));
  return std::move(flows.set());
}

/// (steps) payload / (n rate): no link carries two flows at once.
inline double ring_seconds(const FatTree& tree, int steps = 1 << 30) {
  return std::min(steps, 2 * (tree.hosts - 1)) * payload / tree.hosts / link_rate;
}

/// A host's own link carries n - 1 flows, the busiest uplink those of its leaf to every uplinks-th host
/// beyond.
inline double all_to_all_seconds(const FatTree& tree) {
  const double uplink = static_cast<double>(tree.per_leaf) * (tree.hosts - tree.per_leaf) / tree.uplinks;
  return std::max(static_cast<double>(tree.hosts - 1), uplink) * payload / tree.hosts / link_rate;
}

}  // namespace stepcast::bench
