#include "sim/collective/latency.hpp"

#include <algorithm>
#include <bit>

namespace stepcast {
namespace {

int floor_log2(int value) { return std::bit_width(static_cast<unsigned>(value)) - 1; }

int ceil_log2(int value) { return std::bit_width(static_cast<unsigned>(value - 1)); }

Seconds ring_latency(const NcclConstants& c, Operation operation, Protocol protocol, const GroupTraits& t,
                     Seconds network_hop) {
  const int all = ring_steps(operation, t.ranks), across = ring_steps(operation, t.nodes);
  const Seconds hop = c.local_scale.of(protocol) * (t.nvlink ? c.ring_nvlink : c.ring_pcie).of(protocol);
  return c.ring_base.of(protocol) + (all - across) * hop + across * network_hop;
}

Seconds tree_latency(const NcclConstants& c, Protocol protocol, const GroupTraits& t, Seconds network_hop) {
  const Seconds hop = c.local_scale.of(protocol) * (t.nvlink ? c.tree_nvlink : c.tree_pcie).of(protocol);
  return c.tree_base.of(protocol) + 2 * ((t.per_node - 1) * hop + floor_log2(t.nodes) * network_hop);
}

}  // namespace

int ring_steps(Operation operation, int ranks) {
  return operation == Operation::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

Seconds start_latency(const NcclConstants& c, Operation operation, Algorithm algorithm, Protocol protocol,
                      const GroupTraits& t) {
  const double trips = protocol != Protocol::simple ? 1 : t.gpudirect ? c.trips_gpudirect : c.trips_staged;
  const Seconds wire = trips * t.network_latency;
  const Seconds ring_hop = c.ring_network.of(protocol) + wire;
  // One rank per node leaves nothing to gather inside: measured pairs show the ring's hop for the tree as
  // well.
  const Seconds tree_hop = (t.per_node == 1 ? c.ring_network : c.tree_network).of(protocol) + wire;
  switch (algorithm) {
    case Algorithm::tree:
      return tree_latency(c, protocol, t, tree_hop);
    case Algorithm::nvls:
      return c.nvls_scale * c.nvls_step + (t.nodes > 1 ? c.nvls_network + wire : Seconds{});
    case Algorithm::nvls_tree:
      return c.nvls_scale * c.nvls_step + c.nvls_tree_extra + 2 * floor_log2(t.nodes) * tree_hop;
    case Algorithm::collnet_direct:
      return 2 * (std::min(1, t.per_node - 1) * c.collnet_direct_step + (t.per_node - 1) * c.collnet_rank) +
             c.collnet_direct_network + wire;
    case Algorithm::collnet_chain:
      return 2 * (t.per_node - 1) * c.collnet_chain_step + c.collnet_chain_network + wire;
    case Algorithm::pat:
      return c.pat_base + ceil_log2(t.ranks) * (c.pat_step + wire) + t.ranks * c.pat_rank;
    case Algorithm::hierarchical: {
      GroupTraits inside = t, rails = t;
      inside.ranks = t.per_node;
      inside.nodes = 1;
      rails.ranks = t.nodes;
      rails.per_node = 1;
      Seconds total;
      if (t.per_node > 1) {
        const bool twice = operation == Operation::all_reduce;  // reduce-scatter first, all-gather last
        total += (twice ? 2 : 1) * ring_latency(c, Operation::all_gather, protocol, inside, ring_hop);
      }
      if (t.nodes > 1) total += ring_latency(c, operation, protocol, rails, ring_hop);
      return total;
    }
    case Algorithm::direct: {
      if (operation == Operation::all_to_all)
        return c.all_to_all_base + (t.ranks - t.per_node) * c.all_to_all_remote_peer +
               (t.nodes > 1 ? t.network_latency : Seconds{});
      const Seconds hop = c.local_scale.of(protocol) * (t.nvlink ? c.ring_nvlink : c.ring_pcie).of(protocol);
      return c.ring_base.of(protocol) + (t.nodes > 1 ? ring_hop : hop);
    }
    default:
      return ring_latency(c, operation, protocol, t, ring_hop);
  }
}

Seconds fill_time(const NcclConstants& c, double factor, Seconds latency, Seconds transfer) {
  const Seconds whole = transfer + c.fill_half * latency;
  return whole.value > 0 ? factor * (transfer / whole) * latency : Seconds{};
}

double fill_factor(const NcclConstants& c, Operation operation, Protocol protocol, bool nvlink) {
  if (protocol == Protocol::ll) return 0;
  double factor = operation == Operation::all_reduce ? c.fill_all_reduce : c.fill_other;
  if (protocol == Protocol::ll128) factor *= c.fill_ll128;
  return nvlink ? factor : factor * c.fill_without_nvlink;
}

}  // namespace stepcast
