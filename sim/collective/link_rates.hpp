#pragma once

#include <limits>
#include <vector>

#include "sim/collective/collective.hpp"

namespace stepcast {

/// Payload rates (bytes per second) at which a call's loads meet the limits of the links, each by itself.
struct RateLimits {
  double usable{std::numeric_limits<double>::infinity()};         ///< every link at its usable capacity
  double nvlink_usable{std::numeric_limits<double>::infinity()};  ///< NVLinks alone
  double node_raw{std::numeric_limits<double>::infinity()};  ///< links inside nodes at their raw capacity
  double in_switch{
      std::numeric_limits<double>::infinity()};  ///< as usable, NVLinks at what in-switch reduction reaches
  double busiest_nic{};                          ///< greatest weight on a link between NIC and leaf
  double busiest_host{};                         ///< greatest sum of weights into the host of one node
  int busiest_host_node{};                       ///< and which
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
  [[nodiscard]] RateLimits limits(const std::vector<LinkLoad>& loads) const;

  /// TCP: payload rate at which the sockets between two ranks are full; infinite for other transports.
  [[nodiscard]] double socket_ceiling(const RateLimits& limits) const;
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
