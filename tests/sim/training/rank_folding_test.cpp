#include "sim/training/rank_folding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast {
namespace {

using testing::ElementsAre;

// All alike: one rank stands for all four.
TEST(RankFolding, EqualRanksAreOneClass) {
  const RankFolding folding = fold_ranks({0, 0, 0, 0}, {{{{0, 1, 2, 3}}, {0}}});
  EXPECT_THAT(folding.first_rank, ElementsAre(0));
  EXPECT_THAT(folding.members, ElementsAre(4));
  EXPECT_THAT(folding.first_group.front(), ElementsAre(0));
}

// Rank 3 is slow: the ranks beside it in a pair are not in the situation of the others.
TEST(RankFolding, ASlowRankSplitsThoseThatWaitForItFromTheOthers) {
  const GroupsToFold pairs{{{0, 1}, {2, 3}}, {0, 0}};
  const RankFolding folding = fold_ranks({0, 0, 0, 1}, {pairs});
  EXPECT_THAT(folding.class_of_rank, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(folding.members, ElementsAre(2, 1, 1));
  EXPECT_THAT(folding.class_of_group.front(), ElementsAre(0, 1));
}

// Hybrid sharding on 2 x 2: rank 3 slow. Its shard group {2, 3} and its replicas {1, 3} differ from the
// others, so that all four ranks do.
TEST(RankFolding, TravelsFromGroupToGroup) {
  const RankFolding folding =
      fold_ranks({0, 0, 0, 1}, {{{{0, 1}, {2, 3}}, {0, 0}}, {{{0, 2}, {1, 3}}, {0, 0}}});
  EXPECT_THAT(folding.class_of_rank, ElementsAre(0, 1, 2, 3));
}

TEST(RankFolding, GroupsInUnequalSituationsStayApart) {
  const RankFolding folding = fold_ranks({0, 0, 0, 0}, {{{{0, 1}, {2, 3}}, {0, 1}}});
  EXPECT_THAT(folding.class_of_rank, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(folding.first_group.front(), ElementsAre(0, 1));
}

TEST(RankFolding, WithoutCommunicatorsOnlyTheKindsCount) {
  EXPECT_THAT(fold_ranks({5, 2, 5}, {}).class_of_rank, ElementsAre(0, 1, 0));
}

}  // namespace
}  // namespace stepcast
