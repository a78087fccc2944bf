#include "sim/collective/nccl_tuning.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

constexpr std::size_t simple = 2;

int floor_log2(int value) { return std::bit_width(static_cast<unsigned>(value)) - 1; }

std::size_t index_of(Protocol protocol) {
  return protocol == Protocol::ll ? 0 : protocol == Protocol::ll128 ? 1 : simple;
}

constexpr std::array all_protocols{Protocol::ll, Protocol::ll128, Protocol::simple};

bool reduces(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce;
}

bool one_to_all(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce;
}

/// Steps of a ring over `parts`.
int steps(Operation operation, int parts) {
  return operation == Operation::all_reduce ? 2 * (parts - 1) : one_to_all(operation) ? parts : parts - 1;
}

}  // namespace

NcclTuning::NcclTuning(const NcclTuningConstants& constants, const NcclCommunicator& communicator)
    : c_(constants),
      comm_(communicator),
      graphs_(nccl_graphs(constants, communicator.topology)),
      ranks_(communicator.topology.ranks),
      nodes_(communicator.topology.nodes),
      per_node_(static_cast<double>(ranks_) / nodes_),
      generation_(nccl_generation(communicator.topology.compute_capability)) {
  for (const Operation operation : {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
                                    Operation::broadcast, Operation::reduce})
    rate_operation(operation);
}

NcclTuning::Cell& NcclTuning::at(Operation operation, const Way& way) {
  return table_.at(static_cast<std::size_t>(operation))
      .at(static_cast<std::size_t>(way.algorithm))
      .at(index_of(way.protocol));
}

const NcclTuning::Cell& NcclTuning::at(Operation operation, const Way& way) const {
  return table_.at(static_cast<std::size_t>(operation))
      .at(static_cast<std::size_t>(way.algorithm))
      .at(index_of(way.protocol));
}

double NcclTuning::ll_most() const {
  if (nodes_ == 1) return c_.ll_max_node[generation_];
  return (comm_.amd ? c_.ll_max_nodes_amd : c_.ll_max_nodes)[nodes_ == 2 ? 0 : 1];
}

double NcclTuning::ring_rate(Operation operation, std::size_t protocol) const {
  const NcclGraph& graph = graphs_.ring;
  double bus = graph.channels * (nodes_ <= 2 ? graph.inside : graph.across);
  if (protocol == 0)
    bus = std::min(ll_most(), bus * (nodes_ > 1 || reduces(operation) ? c_.ll_share : c_.ll_share_plain));
  if (protocol == 1)
    bus = std::min(bus * (per_node_ < 2 ? c_.ring_ll128_share_single : c_.ring_ll128_share),
                   graph.channels * c_.ring_ll128_max[generation_]);
  return bus * ranks_ / steps(operation, ranks_);
}

double NcclTuning::tree_rate(std::size_t protocol) const {
  const NcclGraph& graph = graphs_.tree;
  double bus = graph.channels * (nodes_ <= 2 ? graph.inside : graph.across);
  bus = std::min(bus * c_.tree_share, graph.channels * c_.tree_max[generation_][by_nodes()]);
  if (protocol == 0) bus = std::min(bus * c_.tree_ll_share, ll_most());
  if (protocol == 1)
    bus = std::min(bus * (nodes_ == 1 ? c_.tree_ll128_share_node : c_.tree_ll128_share_nodes),
                   graph.channels * c_.tree_ll128_max[generation_][by_nodes()]);
  if (graphs_.plain_tree) bus *= c_.tree_plain;
  return bus / 2;
}

double NcclTuning::nvls_rate(Operation operation, bool tree) const {
  const NcclGraph& graph = graphs_.nvls;
  const bool all_reduce = operation == Operation::all_reduce;
  if (c_.nvls_old_rating) {
    const double across = tree && nodes_ > 2 ? graph.across / 2 : graph.across;
    const double bus = graph.channels * std::min(graph.inside, across);
    return all_reduce ? bus * 5 / 6 : bus;
  }
  if (graph.channels < 2) return 0;
  double inside = graph.inside * c_.nvls_efficiency[generation_] * (graph.channels - 1) / graph.channels;
  inside *= all_reduce ? 2 : (per_node_ - 1) / per_node_;
  double one = std::min(inside, graph.across * (tree && nodes_ <= 2 ? 2 : 1));
  if (nodes_ == 1) one = inside;
  if (tree) one = std::min(one, c_.nvls_tree_max[generation_][by_nodes()]);
  const double bus = graph.channels * one;
  return all_reduce ? bus * ranks_ / steps(operation, ranks_) : bus;
}

double NcclTuning::collnet_rate(Operation operation, bool direct) const {
  const NcclGraph& graph = graphs_.ring;
  if (operation != Operation::all_reduce) return per_node_ * std::min(graph.inside, 0.9 * graph.across);
  double bus = graph.channels * graph.inside;
  if (direct) {
    const double gpus_per_nic = per_node_ / graph.channels;
    bus /= gpus_per_nic - (gpus_per_nic - 1) / 2;
    if (generation_ >= 2) bus *= c_.collnet_direct_hopper;
  }
  return bus / 2;
}

double NcclTuning::ring_latency(Operation operation, std::size_t protocol) const {
  double hop = (comm_.nvlink ? c_.ring_nvlink : c_.ring_pci)[protocol];
  // With one rank per node nothing hides a network step: NCCL takes the tree's.
  const double network = (per_node_ == 1 ? c_.tree_network : c_.ring_network)[protocol];
  if (one_to_all(operation)) {
    const double one = nodes_ == 1 ? hop : c_.ring_network[protocol];
    if (comm_.same_rings) return c_.ring_base[protocol] + one;
    const auto& trees = nodes_ > 1 ? c_.tree_network : comm_.nvlink ? c_.tree_nvlink : c_.tree_pci;
    return c_.ring_base[protocol] + ranks_ * (protocol == simple ? trees[simple] : one);
  }
  int across = nodes_ == 1 ? 0 : steps(operation, nodes_);
  if (nodes_ > 1 && operation == Operation::all_reduce && c_.ring_wraps) across = 2 * nodes_;
  if (nodes_ > 1) hop = std::max(hop, (comm_.amd ? c_.post_amd : c_.post) * (protocol == simple ? 3 : 1));
  return c_.ring_base[protocol] + (steps(operation, ranks_) - across) * hop + across * network;
}

void NcclTuning::rate_operation(Operation operation) {
  for (const Protocol protocol : all_protocols) {
    const std::size_t p = index_of(protocol);
    at(operation, {Algorithm::ring, protocol}) = {ring_latency(operation, p), ring_rate(operation, p)};
    if (operation != Operation::all_reduce) continue;
    double hop = (comm_.nvlink ? c_.tree_nvlink : c_.tree_pci)[p];
    if (comm_.power && !comm_.nvlink && p == simple) hop = c_.ring_pci[simple];
    at(operation, {Algorithm::tree, protocol}) = {
        c_.tree_base[p] + 2 * ((per_node_ - 1) * hop + floor_log2(nodes_) * c_.tree_network[p]),
        tree_rate(p)};
  }
  if (one_to_all(operation)) return;
  if (comm_.nvls && graphs_.nvls.channels > 0) {
    if (nodes_ == 1 || comm_.collnet)
      at(operation, {Algorithm::nvls, Protocol::simple}) = {
          c_.nvls_nvlink + (nodes_ > 1 ? c_.nvls_network : 0), nvls_rate(operation, false)};
    if (nodes_ > 1 && operation == Operation::all_reduce)
      at(operation, {Algorithm::nvls_tree, Protocol::simple}) = {
          c_.nvls_nvlink + 2 * floor_log2(nodes_) * c_.nvls_tree_network, nvls_rate(operation, true)};
  }
  if (comm_.collnet && nodes_ > 1) {
    const double base = c_.collnet_base[simple];
    const double others = per_node_ - 1;
    if (comm_.topology.gpu_nvlink > 0)
      at(operation, {Algorithm::collnet_direct, Protocol::simple}) = {
          base + 2 * (std::min(1.0, others) * c_.collnet_direct_intra + others * c_.collnet_rank) +
              c_.collnet_direct_network,
          collnet_rate(operation, true)};
    if (operation == Operation::all_reduce)
      at(operation, {Algorithm::collnet_chain, Protocol::simple}) = {
          base + 2 * others * c_.collnet_chain_intra + c_.collnet_chain_network,
          collnet_rate(operation, false)};
  }
  if (c_.pat && nodes_ > 1 && ranks_ == nodes_ && operation != Operation::all_reduce) {
    const NcclGraph& graph = graphs_.tree;
    at(operation, {Algorithm::pat, Protocol::simple}) = {
        c_.pat_base + floor_log2(nodes_) * c_.pat_network / c_.pat_overlap + c_.pat_rank * ranks_,
        c_.pat_share * graph.channels * (nodes_ <= 2 ? graph.inside : graph.across)};
  }
}

double NcclTuning::time(Operation operation, const Way& way, double bytes) const {
  const Cell& cell = at(operation, way);
  double latency = cell.latency, rate = cell.rate;
  const std::size_t p = index_of(way.protocol);
  const auto& factors = c_.tree_correction[p];
  const bool corrected = way.algorithm == Algorithm::tree ||
                         (way.algorithm == Algorithm::nvls_tree && generation_ == 3 && comm_.x86);
  const double powers = std::max(0.0, std::floor(std::log2(std::max(bytes, 64.0) / 64)));
  if (corrected && powers < static_cast<double>(factors.size()))
    rate *= factors[static_cast<std::size_t>(powers)];
  if (way.algorithm == Algorithm::ring && p == simple && operation == Operation::all_reduce && nodes_ > 1 &&
      bytes / (graphs_.ring.channels * static_cast<double>(ranks_)) >= c_.plateau_bytes)
    latency *= comm_.topology.compute_capability < 80 ? c_.plateau_old : c_.plateau;
  return latency + bytes / (1000 * rate);
}

std::optional<Way> NcclTuning::cheapest(Operation operation, const std::vector<Way>& ways,
                                        double bytes) const {
  std::optional<Way> best;
  double least = 0;
  for (const Way& way : ways) {
    if (rate(operation, way) <= 0) continue;
    const double here = time(operation, way, bytes);
    if (best && here >= least) continue;
    best = way;
    least = here;
  }
  return best;
}

int NcclTuning::most_channels(Algorithm algorithm) const {
  if (algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree)
    return static_cast<int>((nodes_ > 1 ? c_.nvls_channels_across : c_.nvls_channels)[generation_]);
  return nccl_channels(c_, comm_.topology, graphs_.ring);
}

int NcclTuning::channels(const Way& way, double bytes, int most) const {
  if (way.algorithm == Algorithm::nvls || way.algorithm == Algorithm::nvls_tree) return most;
  const std::size_t p = index_of(way.protocol);
  double threads =
      way.algorithm == Algorithm::tree || way.algorithm == Algorithm::pat ? c_.tree_threads : c_.threads[p];
  if (way.algorithm == Algorithm::ring && p == simple &&
      graphs_.ring.channels * graphs_.ring.inside <= c_.slow_rate)
    threads = c_.slow_threads;
  double least = threads * c_.bytes_per_thread[p];
  if (way.algorithm == Algorithm::ring && p == 0) least *= ranks_;
  const double fit = std::floor(bytes / least);
  return fit >= most ? most : std::max(1, static_cast<int>(fit));
}

int NcclTuning::channels_per_net_peer() const {
  const NcclTopology& t = comm_.topology;
  const double nics = std::max(1.0, t.nics / per_node_);
  const double wanted = std::max(nics, std::ceil(t.nic_rate / c_.p2p_network_rate));
  int channels = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(1.0, wanted))));
  while (channels > 1 && ranks_ / 8.0 * channels > c_.p2p_channels) channels /= 2;
  return channels;
}

}  // namespace stepcast
