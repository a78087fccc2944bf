#pragma once

#include "base/units.hpp"
#include "sim/collective/collective.hpp"

namespace stepcast {

/// One figure for each protocol.
template <class T>
struct ByProtocol {
  T ll{}, ll128{}, simple{};
  [[nodiscard]] T of(Protocol protocol) const {
    return protocol == Protocol::ll ? ll : protocol == Protocol::ll128 ? ll128 : simple;
  }
};

/// The figures of sim/collective/nccl.toml, where each one's meaning and source stand.
struct NcclConstants {
  ByProtocol<Seconds> ring_base, tree_base;
  ByProtocol<Seconds> ring_nvlink, tree_nvlink, ring_pcie, tree_pcie, ring_network, tree_network;
  Seconds nvls_step, nvls_network, nvls_tree_extra;
  Seconds collnet_direct_step, collnet_rank, collnet_direct_network, collnet_chain_step,
      collnet_chain_network;
  Seconds pat_base, pat_step, pat_rank;
  ByProtocol<double> local_scale;  ///< measured hop inside a node over NCCL's constant
  double nvls_scale{};
  double trips_gpudirect{}, trips_staged{};
  ByProtocol<double> rate_share, wire;
  double fill_all_reduce{}, fill_other{}, fill_without_nvlink{}, fill_ll128{}, fill_half{};
  double nvls_tree_share{};
  double collnet_share{};
  double tree_node_share{};
  BytesPerSecond peer_channel_rate;
  double all_to_all_share{};
  Seconds all_to_all_base, all_to_all_remote_peer;
  int most_channels{};
  double ring_passes{}, nvls_passes{};
};

/// Read once from the embedded file.
[[nodiscard]] const NcclConstants& nccl_constants();

}  // namespace stepcast
