#pragma once

#include <array>
#include <optional>
#include <vector>

#include "sim/collective/choice.hpp"
#include "sim/collective/nccl_graph.hpp"

namespace stepcast {

/// A communicator as NCCL's model rates it.
struct NcclCommunicator {
  NcclTopology topology;
  bool nvlink{};      ///< neighbours inside a node reach each other over NVLink alone
  bool near_nics{};   ///< every GPU has a NIC beneath its own PCIe switch or, from Hopper on, by PXN
  bool same_rings{};  ///< all channels run along the same ring
  bool nvls{};        ///< a switch that reduces
  bool collnet{};     ///< the network reduces and NCCL is told so
  bool amd{}, power{}, x86{true};  ///< host
};

/// NCCL's table of latency and rate for every way, and what NCCL makes of it:
///
///     T(B) = L + B / W    (trees: W times a factor of B; rings of an all_reduce across nodes: 1.4 L)
///
/// The way with the least T is NCCL's choice. These times rank; they are known to be too short (by a factor
/// of four and more over TCP) and are used for nothing else. Equations and constants: NVIDIA/nccl
/// src/graph/tuning.cc, src/enqueue.cc.
class NcclTuning {
 public:
  NcclTuning(const NcclTuningConstants& constants, const NcclCommunicator& communicator);

  /// Microseconds and GB/s of algorithm bandwidth, as NCCL_DEBUG_SUBSYS=TUNING prints them; rate 0: not
  /// allowed.
  [[nodiscard]] double latency(Operation operation, const Way& way) const {
    return at(operation, way).latency;
  }
  [[nodiscard]] double rate(Operation operation, const Way& way) const { return at(operation, way).rate; }
  /// Microseconds. The way must be rated.
  [[nodiscard]] double time(Operation operation, const Way& way, double bytes) const;

  /// The cheapest of `ways` that NCCL rates; nothing when it rates none.
  [[nodiscard]] std::optional<Way> cheapest(Operation operation, const std::vector<Way>& ways,
                                            double bytes) const;

  /// Channels that all_reduce and the like use at most, and those that a message gets: rings and trees drop
  /// them one by one while bytes < channels * threads * bytes per thread (LL ring: times n).
  [[nodiscard]] int most_channels(Algorithm algorithm) const;
  [[nodiscard]] int channels(const Way& way, double bytes, int most) const;

  /// Channels of one send and receive with a peer on another node: what the NIC's rate asks for, halved while
  /// peers / 8 times it is above the limit.
  [[nodiscard]] int channels_per_net_peer() const;

  [[nodiscard]] const NcclGraphs& graphs() const { return graphs_; }

 private:
  struct Cell {
    double latency{}, rate{};
  };
  static constexpr std::size_t operations = 5, algorithms = 10, protocols = 3;

  [[nodiscard]] Cell& at(Operation operation, const Way& way);
  [[nodiscard]] const Cell& at(Operation operation, const Way& way) const;
  [[nodiscard]] double ring_rate(Operation operation, std::size_t protocol) const;
  [[nodiscard]] double tree_rate(std::size_t protocol) const;
  [[nodiscard]] double nvls_rate(Operation operation, bool tree) const;
  [[nodiscard]] double collnet_rate(Operation operation, bool direct) const;
  [[nodiscard]] double ring_latency(Operation operation, std::size_t protocol) const;
  [[nodiscard]] double ll_most() const;
  [[nodiscard]] std::size_t by_nodes() const { return static_cast<std::size_t>(nodes_ < 3 ? nodes_ - 1 : 2); }
  void rate_operation(Operation operation);

  const NcclTuningConstants& c_;
  NcclCommunicator comm_;
  NcclGraphs graphs_;
  int ranks_, nodes_;
  double per_node_;  ///< mean
  std::size_t generation_;
  std::array<std::array<std::array<Cell, protocols>, algorithms>, operations> table_{};
};

}  // namespace stepcast
