#pragma once

#include "sim/collective/nccl_tuning_constants.hpp"

namespace stepcast {

/// What NCCL's search for channels sees of one communicator. Rates in GB/s, counted as NCCL counts them.
struct NcclTopology {
  int compute_capability{90};
  int ranks{1}, nodes{1};
  int per_node{1};      ///< ranks on the fullest node
  double inside{};      ///< bus rate that rings inside a node reach; 0 with one rank per node
  double gpu_nvlink{};  ///< all NVLinks of one GPU on an NVSwitch; 0 without
  int nics{};           ///< that the members of one node use; 0 on one node
  double nic_rate{};    ///< of each of them
  bool single_door{};   ///< no NIC is near more than one of the members: only plain trees can be built
};

/// Channels of one pattern with the rate of each inside and across nodes.
struct NcclGraph {
  int channels{1};
  double inside{}, across{};
};

struct NcclGraphs {
  NcclGraph ring, tree, nvls;
  bool plain_tree{};
};

/// NCCL's search (src/graph/search.cc) on a regular topology: among NCCL's candidate rates, from the highest
/// that a path carries, the one whose channels carry most together; rings of fast channels are doubled at
/// half the rate. Trees have the channels of the rings and, across nodes, the highest rate inside that fits
/// them; a chain uses one link less than a ring, so g / (g - 1) of the rate is there. NVLS has a channel for
/// each GPU, which loads its own links twice and those of the others once. What no rate fits is one channel
/// of 0.1 GB/s. Source: NVIDIA/nccl src/graph/search.cc.
[[nodiscard]] NcclGraphs nccl_graphs(const NcclTuningConstants& constants, const NcclTopology& topology);

/// Channels of collectives in all: the graph's and their copies (src/graph/connect.cc).
[[nodiscard]] int nccl_channels(const NcclTuningConstants& constants, const NcclTopology& topology,
                                const NcclGraph& ring);

}  // namespace stepcast
