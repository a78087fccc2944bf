#include "calibrate/measure/rank_readings.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

std::vector<Reading> readings(std::initializer_list<double> times) {
  std::vector<Reading> all;
  for (const double time : times) {
    Reading reading;
    reading.time = Seconds(time);
    reading.host = Seconds(time / 10);
    all.push_back(reading);
  }
  return all;
}

TEST(RankReadings, TravelAsTextWithoutLoss) {
  std::vector<Reading> sent = readings({1.0 / 3, 1e-9});
  sent[0].alone = Seconds(0.2);
  sent[1].call = Seconds(7e-5);
  const std::vector<Reading> read = readings_of(to_text(sent));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].time, sent[0].time);
  EXPECT_EQ(read[0].alone, sent[0].alone);
  EXPECT_EQ(read[1].host, sent[1].host);
  EXPECT_EQ(read[1].call, sent[1].call);
  EXPECT_TRUE(readings_of("").empty());
}

// Two ranks that are late in turns: the collective as a whole took 5 each time, though each rank's own median
// is 3 or less.
TEST(RankReadings, OfACollectiveCountTheSlowestRankOfEachRepeat) {
  RankReadings all(2);
  all.add(0, readings({5, 1, 5, 1, 3}));
  all.add(1, readings({1, 5, 1, 5, 5}));
  EXPECT_EQ(all.slowest(true).median, Seconds(5));
}

// Noise of ranks that work each for itself does not add up: the slower rank's median counts.
TEST(RankReadings, OfAKernelCountTheRankWithTheLargestMedian) {
  RankReadings all(2);
  all.add(0, readings({9, 1, 9, 1, 2}));
  all.add(1, readings({3, 3, 3, 3, 3}));
  EXPECT_EQ(all.slowest(false).median, Seconds(3));
}

TEST(RankReadings, GiveEachRanksMedianAndZeroForOneThatTookNoPart) {
  RankReadings all(3);
  all.add(0, readings({1, 2, 3}));
  all.add(2, readings({4, 5, 6}));
  Measurement what;
  what.kind = Measurement::Kind::collective;
  const Measured measured = all.result(what);
  EXPECT_EQ(measured.by_rank, (std::vector<Seconds>{Seconds(2), Seconds(0), Seconds(5)}));
  EXPECT_EQ(measured.repeats, 3);
  EXPECT_EQ(measured.host, Seconds(0.5));
}

TEST(RankReadings, ForgetTheirFirstHalf) {
  RankReadings all(1);
  all.add(0, readings({9, 9, 1, 1}));
  all.drop_first_half();
  EXPECT_EQ(all.count(), 2);
  EXPECT_EQ(all.slowest(false).high, Seconds(1));
}

}  // namespace
}  // namespace stepcast
