#include <gtest/gtest.h>

#include "tests/sim/engine/program_builder.hpp"

namespace stepcast {
namespace {

using test::first_step;
using test::ProgramBuilder;
constexpr double bytes_per_ps = ProgramBuilder::bytes_per_ps;

/// A compute task on stream 0 beside a collective of 600 bytes at 10 bytes/ps that becomes resident at 40 and
/// ends at 100.
struct Beside {
  ProgramBuilder make{1, 3};
  int cost{}, collective{}, compute{};

  Beside(std::vector<Picoseconds> durations, Picoseconds memory_time) {
    make.program.reserved_levels = {0, 20};
    cost = make.cost(0, 600, {{make.resource(10 * bytes_per_ps), 1}});
    const int delay = make.compute(0, 2, make.work({40}));
    compute = make.compute(0, 0, make.work(std::move(durations), memory_time));
    collective = make.collective(0, 1, make.call(cost), {{delay, 0}});
  }
  CollectiveCost& change() { return make.program.collective_costs[cost]; }
};

// 40 of 100 done at 40; then 60 ps at a cost of 200: 0.3 more; from 100 on the last 0.3 of 100: 130.
TEST(Recost, ProgressIsKeptAsAShareOfTheWork) {
  Beside run({100, 200}, 0);
  run.change().sms = 20;
  const auto intervals = first_step(run.make.program);
  EXPECT_EQ(intervals[run.collective].resident, 40);
  EXPECT_EQ(intervals[run.collective].end, 100);
  EXPECT_EQ(intervals[run.compute].end, 130);
}

TEST(Recost, ReservationsBetweenTwoLevelsCostTheHigherAndAboveAllTheLast) {
  for (const int sms : {5, 20, 50}) {
    Beside run({100, 200}, 0);
    run.change().sms = sms;
    EXPECT_EQ(first_step(run.make.program)[run.compute].end, 130) << sms;
  }
}

// Half of memory is taken between 40 and 100: the 80 of 100 that memory limits take twice as long: 180.
// 0.4 + 60 / 180 = 0.7333 done at 100; 0.26667 * 100 = 26.67 left: 127.
TEST(Recost, MovingBytesTakeTheirShareOfMemory) {
  Beside run({100, 100}, 80);
  run.change().memory_share_per_rate = 0.5 / (10 * bytes_per_ps);
  EXPECT_EQ(first_step(run.make.program)[run.compute].end, 127);
}

// A share of 3 counts as 0.9: 20 of 100 are limited by memory and take 10 times as long: 100 + 20 * 9 = 280.
// 0.4 + 60 / 280 = 0.6143; 38.57 left: 139.
TEST(Recost, AtMostNineTenthsOfMemoryAreTaken) {
  Beside run({100, 100}, 20);
  run.change().memory_share_per_rate = 3 / (10 * bytes_per_ps);
  EXPECT_EQ(first_step(run.make.program)[run.compute].end, 139);
}

// During the latency (40-70 here: 300 bytes then take 30) no bytes move and memory is free; 30 ps at cost 200
// follow. 0.7 done at 70, + 30 / 200 = 0.85 at 100, 15 left: 115.
TEST(Recost, MemoryIsFreeDuringTheLatency) {
  Beside run({100, 100}, 100);
  run.change().latency = 30;
  run.change().payload = 300;
  run.change().memory_share_per_rate = 0.5 / (10 * bytes_per_ps);
  EXPECT_EQ(first_step(run.make.program)[run.compute].end, 115);
}

// A host collective takes 0.75 of the core, latency included: compute runs at a quarter of its pace from 40
// to 100. 0.4 + 60 / 400 = 0.55; 45 left: 145.
TEST(Recost, AHostCollectiveTakesItsShareOfTheCore) {
  Beside run({100, 100}, 0);
  run.change().host_share = 0.75;
  run.change().latency = 20;
  run.change().payload = 400;
  EXPECT_EQ(first_step(run.make.program)[run.compute].end, 145);
}

// Of 100, 60 are a pause: beside the call only the other 40 take four times as long, so the task runs at 100
// / 220 of its pace from 40 to 100. 0.4 + 60 / 220 = 0.673; 32.7 left: 133.
TEST(Recost, AHostCollectiveDoesNotLengthenPauses) {
  Beside run({100, 100}, 0);
  run.make.program.works[1].pause_time = 60;
  run.change().host_share = 0.75;
  run.change().latency = 20;
  run.change().payload = 400;
  EXPECT_EQ(first_step(run.make.program)[run.compute].end, 133);
}

// Both at once: (200 + 50 * 1) / (1 - 0.5) = 500 between 40 and 100: 0.4 + 0.12 = 0.52; 48 left: 148.
TEST(Recost, SmsMemoryAndHostActTogether) {
  Beside run({100, 200}, 50);
  run.change().sms = 20;
  run.change().host_share = 0.5;
  run.change().memory_share_per_rate = 0.5 / (10 * bytes_per_ps);
  EXPECT_EQ(first_step(run.make.program)[run.compute].end, 148);
}

// The memory share follows the rate: a second call on another communicator halves it at 40 + 0; both take
// 0.25 together 0.5.
TEST(Recost, MemorySharesOfConcurrentCallsAddUpToTheirRates) {
  Beside run({100, 100}, 80);
  run.change().memory_share_per_rate = 0.5 / (10 * bytes_per_ps);
  run.make.program.streams = {4};
  run.make.program.tasks.pop_back();  // issue the second call with the first
  run.make.program.collectives.clear();
  run.make.program.waits.resize(0);
  const int delay = 0;
  const int a = run.make.collective(0, 1, run.make.call(run.cost, 1, 0), {{delay, 0}});
  const int b = run.make.collective(0, 3, run.make.call(run.cost, 1, run.make.communicator()), {{delay, 0}});
  const auto intervals = first_step(run.make.program);
  // 2 * 600 bytes over 10 a ps: both end at 40 + 120 = 160; the share is 0.5 all the while: cost 180.
  // 0.4 + 60 % * 180 = 108 ps: 148 < 160.
  EXPECT_EQ(intervals[a].end, 160);
  EXPECT_EQ(intervals[b].end, 160);
  EXPECT_EQ(intervals[run.compute].end, 148);
}

// When a collective ends and the next one starts at the same instant, nothing changed for the compute beside
// them: 200.
TEST(Recost, BackToBackCollectivesAreOneReservation) {
  ProgramBuilder make(1, 2);
  make.program.reserved_levels = {0, 20};
  const int cost = make.cost(0, 300, {{make.resource(10 * bytes_per_ps), 1}}, 0, 20);
  const int compute = make.compute(0, 0, make.work({77, 233}));
  for (int i = 0; i < 10; ++i) make.collective(0, 1, make.call(cost));
  EXPECT_EQ(first_step(make.program)[compute].end, 233);
}

// Re-costing cannot let a task end before its last kernel is launched at 500.
TEST(Recost, TheLastLaunchHoldsAlsoAfterRecosting) {
  Beside run({100, 200}, 0);
  run.change().sms = 20;
  run.make.program.works[1].kernels = 500;  // the first kernel is launched at 1
  run.make.program.tasks[run.compute].host_time = 500;
  const auto intervals = first_step(run.make.program);
  EXPECT_EQ(intervals[run.compute].resident, 1);
  EXPECT_EQ(intervals[run.compute].end, 500);
}

}  // namespace
}  // namespace stepcast
