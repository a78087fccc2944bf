#pragma once

#include "sim/cost/profile.hpp"
#include "sim/engine/program.hpp"
#include "topology/cluster.hpp"

namespace stepcast {

/// What the collectives of a step ask of the network between nodes.
struct NetworkUse {
  int nics_per_node{};  ///< NICs of one node that at least one collective loads; 0 when none crosses nodes
  bool measured{};      ///< at least one that crosses nodes has its time from measured points around its size
  bool extrapolated{};  ///< one was measured at other sizes only, or for other ranks, nodes or rates
};

[[nodiscard]] NetworkUse network_use(const Program& program, const Cluster& cluster, const Profile& profile);

}  // namespace stepcast
