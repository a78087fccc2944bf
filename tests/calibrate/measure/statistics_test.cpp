#include "calibrate/measure/statistics.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

std::vector<Seconds> seconds(std::initializer_list<double> values) {
  std::vector<Seconds> samples;
  for (const double value : values) samples.emplace_back(value);
  return samples;
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_DOUBLE_EQ(median_of(seconds({3, 1, 2})).value, 2);
  EXPECT_DOUBLE_EQ(median_of(seconds({4, 1, 2, 3})).value, 2.5);
}

// P(Binomial(n, 1/2) < l) <= 2.5 %:
//   n = 6:  P(0) = 1/64 = 1.6 %, P(<= 1) = 7/64: l = 1, the whole range.
//   n = 9:  P(<= 1) = 10/512 = 2.0 %, P(<= 2) = 46/512: l = 2, one sample below.
//   n = 15: P(<= 3) = 576/32768 = 1.8 %, P(<= 4) = 1941/32768 = 5.9 %: l = 4, three below.
//   n = 20: P(<= 5) = 21700/2^20 = 2.07 %, P(<= 6) = 60460/2^20: l = 6, five below.
TEST(IntervalOfTheMedian, TakesTheOrderStatisticsThatTheBinomialDistributionSays) {
  EXPECT_EQ(samples_below_interval(6), 0);
  EXPECT_EQ(samples_below_interval(9), 1);
  EXPECT_EQ(samples_below_interval(15), 3);
  EXPECT_EQ(samples_below_interval(20), 5);
}

TEST(IntervalOfTheMedian, IsTheWholeRangeWhereThereAreTooFewSamples) {
  EXPECT_EQ(samples_below_interval(1), 0);
  EXPECT_EQ(samples_below_interval(5), 0);
  const Location location = locate(seconds({5, 1, 4, 2, 3}));
  EXPECT_DOUBLE_EQ(location.low.value, 1);
  EXPECT_DOUBLE_EQ(location.high.value, 5);
}

// The normal approximation: n/2 - 1.96 sqrt(n)/2 = 2000 - 62 = 1938; the count is exact to one.
TEST(IntervalOfTheMedian, HoldsForThousandsOfSamples) { EXPECT_NEAR(samples_below_interval(4000), 1938, 1); }

TEST(Location, IgnoresAnOutlierInMedianIntervalAndSpread) {
  const Location location = locate(seconds({10, 11, 9, 10, 11, 9, 10, 10, 1000}));
  EXPECT_DOUBLE_EQ(location.median.value, 10);
  EXPECT_DOUBLE_EQ(location.low.value, 9);    // the second of nine
  EXPECT_DOUBLE_EQ(location.high.value, 11);  // the eighth
  // |x - 10| sorted: 0 0 0 0 1 1 1 1 990; their median is 1: 1.4826 x 1 / 10.
  EXPECT_DOUBLE_EQ(location.spread, 0.14826);
  EXPECT_DOUBLE_EQ(location.uncertainty(), 0.1);
}

}  // namespace
}  // namespace stepcast
