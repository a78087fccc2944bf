#pragma once

#include <vector>

namespace stepcast {

/// Communicators of one call pattern: which group each rank is in, and which groups meet the same conditions.
struct GroupsToFold {
  std::vector<std::vector<int>> ranks;  ///< by group; each rank stands in exactly one
  std::vector<int> situation;           ///< by group: equal numbers for groups that links treat alike
};

/// Ranks and groups of which one can stand for all.
struct RankFolding {
  std::vector<int> class_of_rank;                ///< classes count from 0 in the order of their first rank
  std::vector<int> first_rank;                   ///< by class
  std::vector<int> members;                      ///< by class: ranks
  std::vector<std::vector<int>> class_of_group;  ///< by communicator and group
  std::vector<std::vector<int>> first_group;     ///< by communicator and class of groups

  /// Groups of a class.
  [[nodiscard]] int groups_in(std::size_t communicator, std::size_t group_class) const;
};

/// The coarsest partition under which one rank of each class may be simulated for all of its class: ranks of
/// one class start alike (`kind`: equal GPUs), and for every communicator they stand in groups of one class;
/// groups of one class are in one situation and have members of the same classes in the same numbers.
/// Partition refinement (as in Hopcroft 1971 and colour refinement of graphs); at most as many rounds as
/// there are classes, usually two.
[[nodiscard]] RankFolding fold_ranks(const std::vector<int>& kind,
                                     const std::vector<GroupsToFold>& communicators);

}  // namespace stepcast
