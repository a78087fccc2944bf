#pragma once

#include <vector>

#include "sim/collective/latency.hpp"
#include "topology/node.hpp"

namespace stepcast {

/// One way in which a call could run.
struct Way {
  Algorithm algorithm{};
  Protocol protocol{};
};

/// What the cluster allows beyond the group's traits.
struct NodeTraits {
  bool nvlink_sharp{};  ///< the switch reduces
  bool regular{};       ///< the same number of ranks on every node
};

/// The ways that NCCL would consider for the operation (nccl_model.md section 7), or the forced ones.
/// all_reduce: ring, tree, and NVLS (one node) or NVLSTree (several) on switches that reduce, from 5 GPUs of
/// a node on; other reductions and gathers: ring (PAT is left out: one GPU per node, and only where
/// NCCL 2.23+ has it); all_to_all and send_recv: direct. LL128 needs NVLink inside the node and GPUDirect
/// across nodes. A forced algorithm need not be one that NCCL would choose (`hierarchical` never is) but must
/// be possible.
/// @throws std::invalid_argument when it is not: NVLS without such a switch, a tree for an all_gather, ...
[[nodiscard]] std::vector<Way> possible_ways(const NcclConstants& constants, Operation operation,
                                             const GroupTraits& group, const NodeTraits& node,
                                             const CollectiveForce& force);

/// Channels that NCCL keeps for a message of `payload` bytes: it drops them one by one while
/// bytes < channels * threads * bytes per thread (LL ring: times n).
/// @return 1 .. most
[[nodiscard]] int channels_for(const NcclConstants& constants, const Way& way, Bytes payload, int ranks,
                               int most);

}  // namespace stepcast
