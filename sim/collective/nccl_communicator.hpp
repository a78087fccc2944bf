#pragma once

#include "sim/collective/group_shape.hpp"
#include "sim/collective/link_loads.hpp"
#include "sim/collective/nccl_tuning.hpp"

namespace stepcast {

/// What NCCL sees of a group on the cluster, in its own figures: NVLinks at the rate of the GPU's generation,
/// PCIe slots and the links between sockets as its topology code counts them, NICs at their line rate or that
/// of their slot. The rate of rings inside a node is that of the rings built here (node_lanes) on links of
/// these rates. Sources: NVIDIA/nccl src/graph/{topo,paths}.cc; figures in nccl_tuning.toml.
/// @param compute_capability  of the GPUs, 90 for 9.0
[[nodiscard]] NcclCommunicator describe_communicator(const NcclTuningConstants& constants,
                                                     const NodePaths& paths, const LinkLoads& loads,
                                                     const GroupShape& group, const GroupTraits& traits,
                                                     int compute_capability);

}  // namespace stepcast
