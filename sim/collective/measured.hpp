#pragma once

#include <vector>

#include "sim/cost/profile.hpp"

namespace stepcast {

/// What a measured collective is looked up by.
struct MeasuredQuery {
  std::string_view operation;
  int ranks{}, nodes{}, per_node{};
  std::string_view fabric;  ///< of the cluster
  std::string_view node;  ///< name of the node type; also stands for the link class of groups inside one node
  BytesPerSecond link_rate;  ///< of the cluster's fabric
};

/// How the profile's measured collectives bear on a call.
struct MeasuredMatch {
  const MeasuredCollective* entry{};  ///< nullptr: none holds for it
  /// Where none holds: the same operation on the same fabric with other ranks, nodes or rates. One that
  /// differs in the rate alone is preferred, then the nearest number of ranks, then the nearest rate;
  /// nullptr: never measured.
  const MeasuredCollective* relative{};
  bool other_ranks{};  ///< the relative differs in more than its rate
};

/// Points apply when operation, ranks, nodes and fabric match and link_rate (and gpus_per_node) are absent or
/// equal. The last matching entry counts, since later profile files override earlier ones. Source:
/// design 6.5.
[[nodiscard]] MeasuredMatch find_measured(const std::vector<MeasuredCollective>& collectives,
                                          const MeasuredQuery& query);

}  // namespace stepcast
