#include "sim/collective/nccl_communicator.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

constexpr double giga = 1e9;
constexpr double gen5_slot = 50e9;  // bytes per second; Gen4 has 31.5, Gen5 63

double nvlink_rate(const NcclTuningConstants& c, int compute_capability) {
  double rate = c.nvlink_rates.front().second;
  for (const auto& [capability, of_link] : c.nvlink_rates)
    if (compute_capability >= capability) rate = of_link;
  return rate;
}

double socket_rate(const NcclTuningConstants& c, const NodeSpec& node) {
  const bool sapphire_rapids = node.cpu == "intel" && node.pcie_rate.value > gen5_slot;
  const std::string kind = sapphire_rapids ? "intel-gen5" : node.cpu;
  for (const auto& [name, rate] : c.cpu_rates)
    if (name == kind) return rate;
  STEPCAST_CHECK(false, "nccl_tuning.toml has no rate for the host " + kind);
  return 0;
}

/// Bus rate of rings over the members of one node, GB/s.
double ring_rate(const NcclTuningConstants& c, const Cluster& cluster, const LinkLoads& loads,
                 const NodeMembers& node, int compute_capability) {
  const NodeSpec& spec = cluster.node_spec(node.node);
  const int ranks = static_cast<int>(node.locals.size());
  const auto call = loads.of(Operation::all_reduce, Algorithm::ring, {GroupShape{ranks, {node}}}, 0);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [id, weight] : call.loads) {
    const Link& link = cluster.links()[static_cast<std::size_t>(id)];
    double rate = link.capacity.value / giga;
    if (link.kind == LinkKind::nvlink) {
      rate *= nvlink_rate(c, compute_capability) / (spec.nvlink_rate_per_link.value / giga);
    } else if (link.kind == LinkKind::host) {
      rate = socket_rate(c, spec);
    } else {
      rate *= c.pcie_share;
      const auto is_host = [&](int device) {
        return cluster.devices()[static_cast<std::size_t>(device)].kind == DeviceKind::host;
      };
      if (spec.cpu == "intel" && spec.pcie_peer_to_peer && (is_host(link.from) || is_host(link.to)))
        rate /= c.intel_peer_cost;
    }
    least = std::min(least, rate / weight);
  }
  return least * ring_bytes_per_hop(Operation::all_reduce, ranks);
}

/// Adds what the lanes of one node say about NICs.
void add_nics(const NcclTuningConstants& c, const NodePaths& paths, const NodeMembers& node,
              int compute_capability, NcclCommunicator& result) {
  const auto lanes = node_lanes(paths, node.node, node.locals, true);
  NcclTopology& topology = result.topology;
  const int nics = static_cast<int>(lanes.size());
  topology.nics = topology.nics == 0 ? nics : std::min(topology.nics, nics);
  const double slot = paths.cluster().node_spec(node.node).pcie_rate.value * c.pcie_share;
  for (const Lane& lane : lanes) {
    double rate = paths.nic_rate(node.node, lane.nic).value;
    if (slot > 0) rate = std::min(rate, slot);
    topology.nic_rate = topology.nic_rate == 0 ? rate / giga : std::min(topology.nic_rate, rate / giga);
    const LocalPath &in = paths.from_nic(node.node, lane.nic, lane.order.front()),
                    &out = paths.to_nic(node.node, lane.order.back(), lane.nic);
    const bool by_neighbour = paths.any_nvlink(node.node, out);
    if (by_neighbour) topology.single_door = true;
    if (paths.through_host(node.node, in) || paths.through_host(node.node, out) ||
        (by_neighbour && nccl_generation(compute_capability) < 2))
      result.near_nics = false;
  }
}

}  // namespace

NcclCommunicator describe_communicator(const NcclTuningConstants& constants, const NodePaths& paths,
                                       const LinkLoads& loads, const GroupShape& group,
                                       const GroupTraits& traits, int compute_capability) {
  const Cluster& cluster = paths.cluster();
  NcclCommunicator result;
  NcclTopology& topology = result.topology;
  topology.compute_capability = compute_capability;
  topology.ranks = traits.ranks;
  topology.nodes = traits.nodes;
  topology.per_node = traits.per_node;
  result.nvlink = traits.nvlink || traits.per_node == 1;
  result.near_nics = traits.nodes == 1 || paths.gpudirect();
  std::set<std::pair<int, std::vector<int>>> seen;  // nodes with the same members of one class are alike
  std::set<std::string> hosts;
  bool mesh = false;
  for (const auto& node : group.nodes) {
    if (!seen.emplace(cluster.node_class(node.node), node.locals).second) continue;
    const NodeSpec& spec = cluster.node_spec(node.node);
    hosts.insert(spec.cpu);
    mesh = mesh || spec.nvlink == NodeSpec::Nvlink::mesh;
    if (node.locals.size() > 1) {
      const double inside = ring_rate(constants, cluster, loads, node, compute_capability);
      topology.inside = topology.inside == 0 ? inside : std::min(topology.inside, inside);
    }
    const double nvlink = spec.nvlink == NodeSpec::Nvlink::fabric_switch && traits.nvlink
                              ? spec.nvlink_links_per_gpu * nvlink_rate(constants, compute_capability)
                              : 0;
    topology.gpu_nvlink = seen.size() == 1 ? nvlink : std::min(topology.gpu_nvlink, nvlink);
    if (traits.nodes > 1) add_nics(constants, paths, node, compute_capability, result);
  }
  result.same_rings = traits.nodes > 1 ? topology.nics == 1 : !mesh;
  result.amd = hosts.contains("amd") || hosts.size() > 1;
  result.power = hosts.contains("power");
  result.x86 = !result.power && !hosts.contains("arm");
  return result;
}

}  // namespace stepcast
