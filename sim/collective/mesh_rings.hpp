#pragma once

#include <functional>
#include <vector>

namespace stepcast {

/// Connections between two GPUs of a node: 0, 1 or 2 NVLinks on a DGX-1.
using Connections = std::function<int(int local_rank, int peer)>;

/// As many Hamiltonian cycles over `members` as the NVLinks between them allow without sharing one (each link
/// carries one cycle each way), found by search. A DGX-1V gives 3 for all eight GPUs, 2 for GPUs 0-3; two
/// GPUs give one for every link between them; GPUs without such a cycle give none.
[[nodiscard]] std::vector<std::vector<int>> disjoint_cycles(const std::vector<int>& members,
                                                            const Connections& connections);

/// For each entry in turn a path that starts there, visits every member and ends at one of that entry's
/// exits, such that the busiest link (uses over connections, each direction by itself) is as little loaded as
/// this order of choosing allows. An entry without such a path gets an empty one.
struct PathWish {
  int entry{};
  std::vector<int> exits, other_exits;
};
[[nodiscard]] std::vector<std::vector<int>> spread_paths(const std::vector<int>& members,
                                                         const std::vector<PathWish>& wishes,
                                                         const Connections& connections);

}  // namespace stepcast
