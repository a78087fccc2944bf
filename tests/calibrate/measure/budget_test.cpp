#include "calibrate/measure/budget.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

PlannedMeasurement planned(Measurement::Kind kind, double expected) {
  PlannedMeasurement planned;
  planned.what.kind = kind;
  planned.one_call = Seconds(expected / 9);
  planned.expected = Seconds(expected);
  return planned;
}

using Kind = Measurement::Kind;

// 30 s for 1 + 2 + 3 expected: the first may take 30 x 1/6 = 5 s; begun 12 s later, the second gets
// 18 x 2/5 = 7.2 s.
TEST(Budget, DividesWhatIsLeftAsTheExpectedTimes) {
  const std::vector<PlannedMeasurement> plan = {planned(Kind::gemm, 1), planned(Kind::attention, 2),
                                                planned(Kind::kernel, 3)};
  const Budget budget(Seconds(30), plan, Seconds(100));
  EXPECT_DOUBLE_EQ(budget.end_of(0, Seconds(100)).value, 105);
  EXPECT_DOUBLE_EQ(budget.end_of(1, Seconds(112)).value, 119.2);
}

// Expected 9 s, of which the fewest repeats take 6.
TEST(Budget, LeavesOutWhatDoesNotFitEvenInItsFewestRepeats) {
  const std::vector<PlannedMeasurement> plan = {planned(Kind::gemm, 9)};
  const Budget budget(Seconds(10), plan, Seconds(0));
  EXPECT_TRUE(budget.allows(0, Seconds(3.9)));
  EXPECT_FALSE(budget.allows(0, Seconds(4.1)));
}

// The link turns out to be four times slower than expected: what is to come on it is expected to take four
// times as long; kernels are not.
TEST(Budget, LearnsHowFarExpectationsOfALikeAreOff) {
  std::vector<PlannedMeasurement> plan = {planned(Kind::collective, 9), planned(Kind::collective, 18),
                                          planned(Kind::kernel, 9)};
  Budget budget(Seconds(1000), plan, Seconds(0));
  budget.learn(0, Seconds(4));
  EXPECT_DOUBLE_EQ(budget.expected_from(1).value, 72 + 9);
}

TEST(Budget, DoesNotExpectShortCallsToTakeLessThanTheirBatches) {
  std::vector<PlannedMeasurement> plan = {planned(Kind::collective, 9), planned(Kind::collective, 9)};
  Budget budget(Seconds(1000), plan, Seconds(0));
  budget.learn(0, Seconds(0.01));
  EXPECT_DOUBLE_EQ(budget.expected_from(1).value, 9);
}

}  // namespace
}  // namespace stepcast
