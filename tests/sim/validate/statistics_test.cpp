#include "sim/validate/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace stepcast {
namespace {

// Sorted 1 2 3 4: position 0.5 x 3 = 1.5 lies between 2 and 3; position 0.9 x 3 = 2.7 is 3 + 0.7.
TEST(Quantile, IsLinearBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(*quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(*quantile({4, 1, 3, 2}, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(*quantile({5}, 0.9), 5);
  EXPECT_FALSE(quantile({}, 0.5).has_value());
}

TEST(KendallTau, IsOneForTheSameRankingAndMinusOneForTheReverse) {
  EXPECT_DOUBLE_EQ(*kendall_tau({{1, 10}, {2, 20}, {3, 30}}), 1);
  EXPECT_DOUBLE_EQ(*kendall_tau({{1, 30}, {2, 20}, {3, 10}}), -1);
}

// Of six pairs five agree and one does not: (5 - 1) / 6.
TEST(KendallTau, CountsPairsThatAgree) {
  EXPECT_NEAR(*kendall_tau({{1, 1}, {2, 2}, {3, 4}, {4, 3}}), 4.0 / 6, 1e-12);
}

// Three pairs: the first differ in both ways and agree twice, the tie in `second` counts in its own root
// only: 2 / sqrt(3 x 2).
TEST(KendallTau, TiesShrinkOnlyTheirOwnSide) {
  EXPECT_NEAR(*kendall_tau({{1, 1}, {2, 2}, {3, 2}}), 2 / std::sqrt(6.0), 1e-12);
}

TEST(KendallTau, NeedsTwoDifferentValues) {
  EXPECT_FALSE(kendall_tau({{1, 1}}).has_value());
  EXPECT_FALSE(kendall_tau({{1, 1}, {1, 2}}).has_value());
}

// Errors -0.2, 0.1, 0.4: sizes 0.1 0.2 0.4, median 0.2, p90 at position 1.8: 0.2 + 0.8 x 0.2 = 0.36; bias
// 0.1.
TEST(GroupSummary, ByHand) {
  const GroupSummary summary = summarize_group("all", {{-0.2, 12.5, 10}, {0.1, 18.2, 20}, {0.4, 21.4, 30}});
  EXPECT_EQ(summary.rows, 3);
  EXPECT_NEAR(*summary.median_abs_error, 0.2, 1e-12);
  EXPECT_NEAR(*summary.p90_abs_error, 0.36, 1e-12);
  EXPECT_NEAR(*summary.bias, 0.1, 1e-12);
  EXPECT_NEAR(*summary.kendall_tau, 1, 1e-12);
}

TEST(GroupSummary, OfNoRowsHasNoFigures) {
  const GroupSummary summary = summarize_group("stated", {});
  EXPECT_EQ(summary.rows, 0);
  EXPECT_FALSE(summary.median_abs_error.has_value());
  EXPECT_FALSE(summary.kendall_tau.has_value());
}

}  // namespace
}  // namespace stepcast
