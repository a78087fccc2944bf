#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/collective/nccl_options.hpp"

namespace stepcast {

/// The figures of sim/collective/nccl_tuning.toml for one version of NCCL, where their meaning and source
/// stand. Microseconds and GB/s as in NCCL; by protocol LL, LL128, Simple; by generation Volta, Ampere,
/// Hopper, Blackwell; by nodes one, two, more.
struct NcclTuningConstants {
  using ByProtocol3 = std::array<double, 3>;
  using ByGeneration = std::array<double, 4>;
  using ByNodes = std::array<double, 3>;

  ByProtocol3 tree_base, ring_base, collnet_base;
  double nvls_base{}, pat_base{};
  ByProtocol3 tree_nvlink, ring_nvlink, tree_pci, ring_pci, tree_network, ring_network;
  double collnet_direct_intra{}, collnet_direct_network{}, collnet_chain_intra{}, collnet_chain_network{},
      collnet_rank{};
  double nvls_nvlink{}, nvls_network{}, nvls_tree_network{};
  double pat_network{}, pat_overlap{}, pat_rank{};
  double post{}, post_amd{};

  double ll_share{}, ll_share_plain{};
  ByGeneration ll_max_node;
  std::array<double, 2> ll_max_nodes, ll_max_nodes_amd;
  double ring_ll128_share{}, ring_ll128_share_single{};
  ByGeneration ring_ll128_max;
  double tree_share{}, tree_ll_share{}, tree_ll128_share_node{}, tree_ll128_share_nodes{}, tree_plain{};
  std::array<ByNodes, 4> tree_max, tree_ll128_max, nvls_tree_max;
  ByGeneration nvls_efficiency;
  bool nvls_old_rating{}, pat{}, ring_wraps{};
  double pat_share{}, collnet_direct_hopper{};
  double plateau{}, plateau_old{}, plateau_bytes{};
  std::array<std::vector<double>, 3> tree_correction;

  int most_channels{}, most_rings{};
  ByProtocol3 threads, bytes_per_thread;
  double tree_threads{}, slow_threads{}, slow_rate{};
  ByGeneration nvls_channels, nvls_channels_across;
  double p2p_network_rate{}, p2p_channels{};

  std::vector<std::pair<int, double>> nvlink_rates;  ///< by compute capability, ascending
  double pcie_share{};
  std::vector<std::pair<std::string, double>> cpu_rates;
  double intel_peer_cost{};
  std::array<std::vector<double>, 4> speeds_inside, speeds_across;
  double lowest_speed{};
};

/// Read once from the embedded file.
[[nodiscard]] const NcclTuningConstants& nccl_tuning_constants(NcclVersion version);

/// Column of the tables by generation: 0 Volta and older, 1 Ampere (Ada too), 2 Hopper, 3 Blackwell.
/// @param compute_capability  90 for 9.0
[[nodiscard]] std::size_t nccl_generation(int compute_capability);

}  // namespace stepcast
