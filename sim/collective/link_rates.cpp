#include "sim/collective/link_rates.hpp"

#include <algorithm>
#include <map>

namespace stepcast {
namespace {

double or_one(double efficiency) { return efficiency > 0 ? efficiency : 1; }

}  // namespace

LinkRates::LinkRates(const Cluster& cluster, const std::vector<LinkProfile>& profiles, bool tuned_sockets)
    : cluster_(cluster),
      sockets_(tuned_sockets ? cluster.request().fabric.sockets_tuned
                             : cluster.request().fabric.sockets_untuned) {
  const FabricSpec& fabric = cluster.request().fabric;
  std::vector<double> nvlink, pcie;
  for (int kind = 0; kind < cluster.node_classes(); ++kind) {
    const LinkProfile& profile = profiles[profiles.size() > 1 ? static_cast<std::size_t>(kind) : 0];
    nvlink.push_back(or_one(profile.nvlink_efficiency.value));
    pcie.push_back(or_one(profile.pcie_efficiency.value));
    nvls_over_nvlink_.push_back(
        profile.nvls_efficiency.value > 0 ? profile.nvls_efficiency.value / nvlink.back() : 1);
  }
  usable_.reserve(cluster.links().size());
  for (const Link& link : cluster.links()) {
    double rate = link.capacity.value;
    const int node = cluster.devices()[static_cast<std::size_t>(link.from)].node;
    const auto kind = static_cast<std::size_t>(node < 0 ? 0 : cluster.node_class(node));
    switch (link.kind) {
      case LinkKind::nvlink:
        rate *= nvlink[kind];
        break;
      case LinkKind::pcie:
      case LinkKind::host:
        rate *= pcie[kind];
        break;
      case LinkKind::nic:
        rate *= or_one(fabric.efficiency);
        if (fabric.host_copy_rate.value > 0) rate = std::min(rate, fabric.host_copy_rate.value);
        break;
      case LinkKind::fabric:
        rate *= or_one(fabric.efficiency);
        break;
    }
    const int id = static_cast<int>(usable_.size());
    usable_.push_back(rate * (1 - cluster.background_share(id)));
  }
}

RateLimits LinkRates::limits(const std::vector<LinkLoad>& loads) const {
  RateLimits result;
  std::map<int, double> into_host, out_of_node;  // by node
  std::map<int, double> slot_time;               // by GPU
  for (const auto& [id, weight] : loads) {
    const Link& link = cluster_.links()[static_cast<std::size_t>(id)];
    const double usable = usable_[static_cast<std::size_t>(id)];
    result.usable = std::min(result.usable, usable / weight);
    const bool is_nvlink = link.kind == LinkKind::nvlink;
    const auto kind = [&] {
      return static_cast<std::size_t>(
          cluster_.node_class(cluster_.devices()[static_cast<std::size_t>(link.from)].node));
    };
    result.in_switch =
        std::min(result.in_switch, usable * (is_nvlink ? nvls_over_nvlink_[kind()] : 1) / weight);
    if (link.kind == LinkKind::nic) result.busiest_nic = std::max(result.busiest_nic, weight);
    const Device& from = cluster_.devices()[static_cast<std::size_t>(link.from)];
    if (link.kind == LinkKind::nic && from.kind == DeviceKind::nic)
      result.busiest_node_out = std::max(result.busiest_node_out, out_of_node[from.node] += weight);
    if (link.kind == LinkKind::nic || link.kind == LinkKind::fabric) {
      result.network = std::min(result.network, usable / weight);
      continue;
    }
    if (is_nvlink) result.nvlink_usable = std::min(result.nvlink_usable, usable / weight);
    result.node_raw = std::min(result.node_raw, link.capacity.value / weight);
    const auto& to = cluster_.devices()[static_cast<std::size_t>(link.to)];
    if (link.kind == LinkKind::pcie && !cluster_.node_spec(from.node).pcie_peer_to_peer &&
        (from.kind == DeviceKind::gpu || to.kind == DeviceKind::gpu)) {
      double& time = slot_time[from.kind == DeviceKind::gpu ? link.from : link.to];
      time += weight / usable;
      result.staged_duplex = std::min(result.staged_duplex, 1 / time);
    }
    if (to.kind != DeviceKind::host || link.kind == LinkKind::host) continue;
    const double into = into_host[to.node] += weight;
    if (into <= result.busiest_host) continue;
    result.busiest_host = into;
    result.busiest_host_node = to.node;
  }
  return result;
}

double LinkRates::socket_ceiling(const RateLimits& limits) const {
  const FabricSpec& fabric = cluster_.request().fabric;
  if (fabric.flow_ceiling.value <= 0 || limits.busiest_nic <= 0)
    return std::numeric_limits<double>::infinity();
  return fabric.flow_ceiling.value * std::max(1, sockets_) / limits.busiest_nic;
}

double LinkRates::staged_gpu_ceiling(const RateLimits& limits, int gpus) const {
  const double rate = cluster_.request().fabric.staged_rate.value;
  if (rate <= 0 || cluster_.gpudirect() || limits.busiest_node_out <= 0)
    return std::numeric_limits<double>::infinity();
  return gpus * rate / limits.busiest_node_out;
}

double LinkRates::staging_ceiling(const RateLimits& limits) const {
  if (limits.busiest_host <= 0) return std::numeric_limits<double>::infinity();
  const NodeSpec& node = cluster_.node_spec(limits.busiest_host_node);
  const bool staged = !node.pcie_peer_to_peer || !cluster_.gpudirect(limits.busiest_host_node);
  if (!staged || node.host_memory_rate.value <= 0) return std::numeric_limits<double>::infinity();
  return node.host_memory_rate.value / (2 * limits.busiest_host);
}

}  // namespace stepcast
