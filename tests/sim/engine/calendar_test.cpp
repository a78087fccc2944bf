#include "sim/engine/detail/calendar.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "sim/engine/detail/random.hpp"

namespace stepcast::detail {
namespace {

TEST(Calendar, EventsOfOneTimeComeInTheOrderInWhichTheyWereScheduled) {
  Calendar calendar;
  for (int i = 0; i < 100; ++i) calendar.push(i % 3, EventKind::flow_end, i, 0);
  std::vector<std::pair<Picoseconds, int>> expected;
  for (int i = 0; i < 100; ++i) expected.emplace_back(i % 3, i);
  std::sort(expected.begin(), expected.end());
  for (const auto& [time, subject] : expected) {
    const Event event = calendar.pop();
    EXPECT_EQ(event.time, time);
    EXPECT_EQ(event.subject, subject);
    EXPECT_EQ(event.kind(), EventKind::flow_end);
  }
  EXPECT_TRUE(calendar.empty());
}

TEST(Calendar, MixedPushesAndPopsNeverGoBackInTime) {
  Calendar calendar;
  SplitMix64 random(7);
  Picoseconds now = 0;
  for (int i = 0; i < 10000; ++i) {
    calendar.push(now + static_cast<Picoseconds>(random.next() % 50), EventKind::available, i, 0);
    if (random.next() % 3 == 0) continue;
    const Event event = calendar.pop();
    ASSERT_GE(event.time, now);
    now = event.time;
  }
}

}  // namespace
}  // namespace stepcast::detail
