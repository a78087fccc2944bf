#pragma once

#include <limits>
#include <vector>

#include "sim/collective/collective.hpp"

namespace stepcast {

/// Payload rates (bytes per second) at which a call's loads meet the limits of the links, each by itself.
struct RateLimits {
  double usable{std::numeric_limits<double>::infinity()};         ///< every link at its usable capacity
  double nvlink_usable{std::numeric_limits<double>::infinity()};  ///< NVLinks alone
  double network{std::numeric_limits<double>::infinity()};   ///< as usable, NICs and switches' links alone
  double node_raw{std::numeric_limits<double>::infinity()};  ///< links inside nodes at their raw capacity
  double in_switch{
      std::numeric_limits<double>::infinity()};  ///< as usable, NVLinks at what in-switch reduction reaches
  double busiest_nic{};                          ///< greatest weight on a link between NIC and leaf
  double busiest_host{};                         ///< greatest sum of weights into the host of one node
  double busiest_node_out{};  ///< greatest sum of weights on the NICs of one node, outwards
  double staged_duplex{std::numeric_limits<double>::infinity()};  ///< see LinkRates::limits
  int busiest_host_node{};                                        ///< and which
};

/// What links offer to collectives.
///
/// Usable: NVLink, PCIe and the links between sockets at the raw rate times the profile's efficiency (1 when
/// the profile has none); NICs and the fabric at the line rate times the fabric's efficiency; with TCP a NIC
/// carries at most what the host copies between sockets and staging buffers.
class LinkRates {
 public:
  /// @param profiles  by class of nodes; one alone holds for all
  /// @param tuned_sockets  TCP: as many sockets as NCCL's variables ask for where they are set
  LinkRates(const Cluster& cluster, const std::vector<LinkProfile>& profiles, bool tuned_sockets = false);

  [[nodiscard]] BytesPerSecond usable(int link) const {
    return BytesPerSecond(usable_[static_cast<std::size_t>(link)]);
  }
  /// Where GPUs can't read each other, both directions of a GPU's slot share what one of them carries: host
  /// memory is written and read by the same processor (p2pBandwidthLatencyTest of two RTX 2080 Ti: 5.7 GB/s
  /// in one direction, 6.1 in both together; NCCL: 11.1 GB/s for a broadcast, 2 x 4.0 for an all_reduce).
  /// `staged_duplex` is that limit.
  [[nodiscard]] RateLimits limits(const std::vector<LinkLoad>& loads) const;

  /// TCP: payload rate at which the sockets between two ranks are full; infinite for other transports.
  [[nodiscard]] double socket_ceiling(const RateLimits& limits) const;
  /// Payload rate at which `gpus` ranks of a node are busy staging network messages without GPUDirect
  /// (FabricSpec::staged_rate); infinite otherwise.
  [[nodiscard]] double staged_gpu_ceiling(const RateLimits& limits, int gpus) const;
  /// Payload rate at which the staging copies fill the host's memory: a byte that passes the host is written
  /// and read. Infinite where neither neighbours nor NICs stage through the host.
  [[nodiscard]] double staging_ceiling(const RateLimits& limits) const;

 private:
  const Cluster& cluster_;
  std::vector<double> usable_;
  int sockets_;
  std::vector<double> nvls_over_nvlink_;  ///< by class of nodes
};

}  // namespace stepcast
