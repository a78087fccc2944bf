#include "sim/engine/detail/instants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/diagnostic.hpp"
#include "sim/engine/detail/calendar.hpp"
#include "tests/sim/engine/random_flows.hpp"

namespace stepcast {
namespace {

using detail::Instants;

TEST(Instants, ItemsOfOneTimeComeTogetherInTheOrderInWhichTheyWereScheduled) {
  Instants instants;
  instants.schedule(5, 20);
  instants.schedule(1, 10);
  instants.schedule(3, 20);
  instants.schedule(2, 20);
  instants.schedule(5, 10);  // moves, behind 1
  std::vector<int> items;
  EXPECT_EQ(instants.pop(items), 10);
  EXPECT_EQ(items, (std::vector<int>{1, 5}));
  EXPECT_EQ(instants.pop(items), 20);
  EXPECT_EQ(items, (std::vector<int>{3, 2}));
  EXPECT_TRUE(instants.empty());
  EXPECT_FALSE(instants.scheduled(3));
}

TEST(Instants, RandomSchedulesComeOutByTime) {
  detail::SplitMix64 random(3);
  Instants instants;
  std::map<int, Picoseconds> time_of;
  Picoseconds now = 0;
  for (int round = 0; round < 50'000; ++round) {
    const int item = test::below(random, 300);
    const Picoseconds time = now + test::below(random, test::below(random, 2) == 0 ? 20 : 100'000);
    instants.schedule(item, time);
    time_of[item] = time;
    if (round % 3 != 0) continue;
    std::vector<int> items;
    now = instants.pop(items);
    ASSERT_FALSE(items.empty());
    for (const int due : items) {
      ASSERT_EQ(time_of.at(due), now);
      time_of.erase(due);
    }
    for (const auto& [other, later] : time_of) ASSERT_GT(later, now) << other;
  }
}

TEST(Instants, ATimeBeyondTheClockIsToldAsOne) {
  Instants instants;
  EXPECT_THROW(instants.schedule(0, detail::Calendar::latest + 1), ClockOverflow);
}

}  // namespace
}  // namespace stepcast
