#include <gtest/gtest.h>

#include "tests/sim/engine/program_builder.hpp"

namespace stepcast {
namespace {

using test::first_step;
using test::ProgramBuilder;
constexpr double bytes_per_ps = ProgramBuilder::bytes_per_ps;

// 1000 bytes at weight 2 over 10 bytes/ps: 1000 * 2 / 10 = 200 after a latency of 30.
TEST(Collective, TakesItsLatencyAndThenItsBytesOverTheLink) {
  ProgramBuilder make;
  const int link = make.resource(10 * bytes_per_ps);
  const int t = make.collective(0, 1, make.call(make.cost(30, 1000, {{link, 2}})), {}, 4);
  const auto run = first_step(make.program);
  EXPECT_EQ(run[t].issued, 4);
  EXPECT_EQ(run[t].eligible, 4);
  EXPECT_EQ(run[t].resident, 4);
  EXPECT_EQ(run[t].moving, 4);
  EXPECT_EQ(run[t].end, 234);
}

TEST(Collective, RunsAtItsCeilingWhereTheLinkIsWider) {
  ProgramBuilder make;
  const int link = make.resource(10 * bytes_per_ps);
  const int t = make.collective(0, 1, make.call(make.cost(0, 1000, {{link, 1}}, 2 * bytes_per_ps)));
  EXPECT_EQ(first_step(make.program)[t].end, 500);
}

TEST(Collective, WithoutPayloadOrLoadsEndsAfterItsLatency) {
  ProgramBuilder make;
  const int link = make.resource(10 * bytes_per_ps);
  const int empty = make.collective(0, 1, make.call(make.cost(7, 0, {{link, 1}})));
  const int alone = make.collective(0, 1, make.call(make.cost(0, 1000, {})));
  const auto run = first_step(make.program);
  EXPECT_EQ(run[empty].end, 7);
  EXPECT_EQ(run[alone].end, 7);
}

// Rank 1 arrives at 100. Rank 0's kernel is resident from 0 and holds its 20 SMs while it waits: the compute
// beside it runs at the cost with 20 reserved, 200 instead of 120, from the start. Moving 100, + 10 latency +
// 1000 / 10 = 210.
TEST(Collective, ALateRankKeepsTheOthersSmsReserved) {
  ProgramBuilder make(2);
  make.program.reserved_levels = {0, 20};
  const int link = make.resource(10 * bytes_per_ps);
  const int call = make.call(make.cost(10, 1000, {{link, 1}}, 0, 20), 2);
  const int early = make.collective(0, 1, call);
  const int beside = make.compute(0, 0, make.work({120, 200}));
  const int delay = make.compute(1, 0, make.work({100, 100}));
  const int late = make.collective(1, 1, call, {{delay, 0}});
  const auto run = first_step(make.program);
  EXPECT_EQ(run[early].resident, 0);
  EXPECT_EQ(run[early].moving, 100);
  EXPECT_EQ(run[late].resident, 100);
  EXPECT_EQ(run[early].end, 210);
  EXPECT_EQ(run[late].end, 210);
  EXPECT_EQ(run[beside].end, 200);
}

// I8: one communicator, two streams, both eligible at 0: 0-100, then 100-200, in the order of issue.
TEST(Communicator, CallsOfOneCommunicatorRunOneAfterTheOther) {
  ProgramBuilder make(1, 3);
  const int cost = make.cost(0, 1000, {{make.resource(10 * bytes_per_ps), 1}});
  const int a = make.collective(0, 1, make.call(cost));
  const int b = make.collective(0, 2, make.call(cost));
  const auto run = first_step(make.program);
  EXPECT_EQ(run[a].end, 100);
  EXPECT_EQ(run[b].eligible, 0);
  EXPECT_EQ(run[b].resident, 100);
  EXPECT_EQ(run[b].moving, 100);
  EXPECT_EQ(run[b].end, 200);
}

// I11: a, issued first, becomes eligible at 50; b is eligible at 0 but waits for its turn: a 50-150, b
// 150-250.
TEST(Communicator, TheOrderOfIssueIsTheOrderOfService) {
  ProgramBuilder make(1, 3);
  const int cost = make.cost(0, 1000, {{make.resource(10 * bytes_per_ps), 1}});
  const int delay = make.compute(0, 0, make.work({50}));
  const int a = make.collective(0, 1, make.call(cost), {{delay, 0}});
  const int b = make.collective(0, 2, make.call(cost));
  const auto run = first_step(make.program);
  EXPECT_EQ(run[a].resident, 50);
  EXPECT_EQ(run[b].resident, 150);
  EXPECT_EQ(run[b].end, 250);
}

// Two communicators, one link of 10: 5 each. b (500) ends at 100; then a has 500 left at 10: 150.
TEST(Communicator, CallsOfTwoCommunicatorsShareALink) {
  ProgramBuilder make(1, 3);
  const int link = make.resource(10 * bytes_per_ps);
  const int a = make.collective(0, 1, make.call(make.cost(0, 1000, {{link, 1}}), 1, 0));
  const int b = make.collective(0, 2, make.call(make.cost(0, 500, {{link, 1}}), 1, make.communicator()));
  const auto run = first_step(make.program);
  EXPECT_EQ(run[b].end, 100);
  EXPECT_EQ(run[a].end, 150);
}

TEST(Communicator, CallsOnDisjointLinksDoNotMeet) {
  ProgramBuilder make(1, 3);
  const int a =
      make.collective(0, 1, make.call(make.cost(0, 1000, {{make.resource(10 * bytes_per_ps), 1}}), 1, 0));
  const int b = make.collective(
      0, 2, make.call(make.cost(0, 500, {{make.resource(10 * bytes_per_ps), 1}}), 1, make.communicator()));
  const auto run = first_step(make.program);
  EXPECT_EQ(run[a].end, 100);
  EXPECT_EQ(run[b].end, 50);
}

// Two at once on one link: a, b share it, 5 each, until 200; c starts when the first place is free: 200-300.
TEST(Communicator, ServesAsManyAtOnceAsItMay) {
  ProgramBuilder make(1, 4);
  const int cost = make.cost(0, 1000, {{make.resource(10 * bytes_per_ps), 1}});
  const int gloo = make.communicator(2);
  const int a = make.collective(0, 1, make.call(cost, 1, gloo));
  const int b = make.collective(0, 2, make.call(cost, 1, gloo));
  const int c = make.collective(0, 3, make.call(cost, 1, gloo));
  const auto run = first_step(make.program);
  EXPECT_EQ(run[a].end, 200);
  EXPECT_EQ(run[b].end, 200);
  EXPECT_EQ(run[c].resident, 200);
  EXPECT_EQ(run[c].end, 300);
}

// A point-to-point chain on one communicator: 0 -> 1, then 1 -> 2. Rank 1 takes part in both and serves them
// in order; rank 2 is resident in the second from the start.
TEST(Communicator, CallsOfPartOfTheRanksKeepEachRanksOrder) {
  ProgramBuilder make(3, 1);
  const int link = make.resource(10 * bytes_per_ps);
  const int cost = make.cost(0, 1000, {{link, 1}});
  const int first = make.call(cost, 2), second = make.call(cost, 2);
  make.collective(0, 0, first);
  make.collective(1, 0, first);
  const int middle = make.collective(1, 0, second);
  const int last = make.collective(2, 0, second);
  const auto run = first_step(make.program);
  EXPECT_EQ(run[last].resident, 0);
  EXPECT_EQ(run[last].moving, 100);
  EXPECT_EQ(run[middle].end, 200);
}

// Starts at the same instant are one change: three calls on one link, 10 / 3 each: 3 * 1000 / 10 = 300 for
// all.
TEST(Communicator, SimultaneousStartsShareFromTheFirstInstant) {
  ProgramBuilder make(1, 4);
  const int cost = make.cost(5, 1000, {{make.resource(10 * bytes_per_ps), 1}});
  for (int i = 1; i <= 3; ++i) make.collective(0, i, make.call(cost, 1, make.communicator()));
  for (const Interval& interval : first_step(make.program)) EXPECT_EQ(interval.end, 305);
}

}  // namespace
}  // namespace stepcast
