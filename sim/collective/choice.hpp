#pragma once

#include <vector>

#include "sim/collective/collective.hpp"
#include "sim/collective/latency.hpp"

namespace stepcast {

/// One way in which a call could run.
struct Way {
  Algorithm algorithm{};
  Protocol protocol{};
};

/// What the cluster allows beyond the group's traits.
struct NodeTraits {
  bool nvlink_sharp{};     ///< the switch reduces
  bool regular{};          ///< the same number of ranks on every node
  bool nvswitch{};         ///< the GPUs of a node hang on an NVSwitch
  bool network_reduces{};  ///< switches of the fabric that reduce, and NCCL told to use them
  bool pat{};              ///< this version of NCCL has PAT
  bool ll128{};            ///< NVLink inside the nodes, near NICs across
};

/// The ways that NCCL would consider for the operation (NVIDIA/nccl src/graph/tuning.cc), or the forced ones.
///
/// - all_reduce: ring, tree; NVLS on one node (on several with CollNet), NVLSTree across nodes, where the
/// switch
///   reduces; CollNet where the network does
/// - all_gather, reduce_scatter: ring; NVLS as above; CollNetDirect; PAT with one rank per node
/// - broadcast, reduce: ring
/// - all_to_all, send_recv: direct
///
/// A forced algorithm need not be one that NCCL would choose (`hierarchical` never is) but must be possible.
/// `nccl.algorithms` and `nccl.protocols` leave out the others where anything remains for the operation; else
/// they are passed over, as NCCL does for operations that have one algorithm only. LL128 where it is not safe
/// needs to be named.
/// @throws std::invalid_argument when the forced one is not possible: NVLS without such a switch, a tree for
/// an all_gather, ...
[[nodiscard]] std::vector<Way> possible_ways(Operation operation, const GroupTraits& group,
                                             const NodeTraits& node, const NcclOptions& nccl,
                                             const CollectiveForce& force);

}  // namespace stepcast
