#include <gtest/gtest.h>

#include "tests/sim/engine/program_builder.hpp"

namespace stepcast {
namespace {

using test::first_step;
using test::ProgramBuilder;

// Stream 0: a 100, c 30 (waits b).  Stream 1: b 50, d 20 (waits a).
// a 0-100, b 0-50; c follows a on its stream: 100-130; d waits for a: 100-120.
TEST(Streams, TwoStreamsRunBesideEachOtherAndWaitForEvents) {
  ProgramBuilder make;
  const int a = make.compute(0, 0, make.work({100}));
  const int b = make.compute(0, 1, make.work({50}));
  const int c = make.compute(0, 0, make.work({30}), {{b, 0}});
  const int d = make.compute(0, 1, make.work({20}), {{a, 0}});
  const auto run = first_step(make.program);
  EXPECT_EQ(run[a].end, 100);
  EXPECT_EQ(run[b].end, 50);
  EXPECT_EQ(run[c].resident, 100);
  EXPECT_EQ(run[c].end, 130);
  EXPECT_EQ(run[d].resident, 100);
  EXPECT_EQ(run[d].end, 120);
}

TEST(Streams, AWaitOnAStepBeforeTheFirstIsOver) {
  ProgramBuilder make;
  const int a = make.compute(0, 0, make.work({100}));
  make.program.waits = {{a, 1}, {a, 2}};
  make.program.tasks[a].wait_count = 2;
  EXPECT_EQ(first_step(make.program)[a].end, 100);
}

// Ranks 0 and 1 are chained only by the wait of b (rank 1) for a of the step before: b of step s starts at
// the end of a of step s - 1, 100 s, though its own stream would be free every 10 ps.
TEST(Streams, AWaitReachesIntoTheStepBefore) {
  ProgramBuilder make(2);
  const int a = make.compute(0, 0, make.work({100}));
  const int b = make.compute(1, 0, make.work({10}), {{a, 1}});
  make.program.end_task = b;
  const Timeline line = simulate(make.program);
  EXPECT_TRUE(line.steady);
  EXPECT_EQ(line.end - line.begin, 100);
  EXPECT_EQ(line.end, 100 * (line.steps_simulated - 1) + 10);
}

// The CPU takes 10 a task: issued at 10, 20, 30. Kernels of 5 wait for it: each starts when it is issued.
TEST(Host, ShortKernelsRunAtThePaceOfTheCpu) {
  ProgramBuilder make;
  const int short_work = make.work({5});
  for (int i = 0; i < 3; ++i) make.compute(0, 0, short_work, {}, 10);
  const auto run = first_step(make.program);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run[i].issued, 10 * (i + 1));
    EXPECT_EQ(run[i].resident, 10 * (i + 1));
    EXPECT_EQ(run[i].end, 10 * (i + 1) + 5);
  }
}

// Five kernels, issued in 50: the first is launched at 10 and the task starts then; it lasts 20, but the last
// kernel is launched at 50 only.
TEST(Host, ATaskOfManyKernelsStartsAtItsFirstLaunchAndCannotEndBeforeItsLast) {
  ProgramBuilder make;
  const int a = make.compute(0, 0, make.work({20}, 0, 5), {}, 50);
  const int b = make.compute(0, 0, make.work({100}, 0, 5), {}, 50);
  const auto run = first_step(make.program);
  EXPECT_EQ(run[a].resident, 10);
  EXPECT_EQ(run[a].end, 50);
  EXPECT_EQ(run[b].resident, 60);  // 50 + 50 / 5
  EXPECT_EQ(run[b].end, 160);
}

// a: issued at 10, 10-110. The CPU reaches the wait at 10 and is held until 110; b is issued at 120.
TEST(Host, AHostWaitHoldsTheCpuUntilTheAwaitedTaskHasEnded) {
  ProgramBuilder make;
  const int work = make.work({100});
  const int a = make.compute(0, 0, work, {}, 10);
  const int wait = make.host_wait(0, {{a, 0}}, 5);
  const int b = make.compute(0, 1, work, {}, 10);
  const auto run = first_step(make.program);
  EXPECT_EQ(run[a].end, 110);
  EXPECT_EQ(run[wait].issued, 10);
  EXPECT_EQ(run[wait].end, 110);
  EXPECT_EQ(run[b].issued, 120);
  EXPECT_EQ(run[b].end, 220);
}

// Nothing is awaited any more when the CPU arrives: the wait costs its own 5.
TEST(Host, AHostWaitOnWhatHasEndedCostsItsHostTime) {
  ProgramBuilder make;
  const int a = make.compute(0, 0, make.work({1}), {}, 10);
  make.compute(0, 0, make.work({1}), {}, 100);
  const int wait = make.host_wait(0, {{a, 0}}, 5);
  EXPECT_EQ(first_step(make.program)[wait].end, 115);  // 10 + 100 + 5
}

// A task may wait for the host_wait of another rank, whose CPU must then run ahead of its own streams.
// Rank 0: a 0-100; its CPU passes w of step 1 at 14 (2 + 5 + 2 + 5) while a of step 0 still runs. Rank 1's b
// of step 1 waits only for that: b of step 0 is 7-17, b of step 1 follows at 17-27, not at 100.
TEST(Host, ACpuRunsAheadWhereAnotherRankWaitsForIt) {
  ProgramBuilder make(2);
  make.compute(0, 0, make.work({100}), {}, 2);
  const int wait = make.host_wait(0, {}, 5);
  const int b = make.compute(1, 0, make.work({10}), {{wait, 0}});
  make.program.end_task = b;
  SimulateOptions options;
  options.maximum_steps = 2;
  const Timeline line = simulate(make.program, options);
  EXPECT_EQ(line.begin, 17);
  EXPECT_EQ(line.end, 27);
}

// The CPU of a step may run ahead of its GPU: step 2's issue does not wait for the 1000 of step 1. 20 ps of
// issue for 1000 ps of work: the GPU is never idle and a step takes 1000.
TEST(Host, TheCpuRunsAheadOfTheGpuOverSteps) {
  ProgramBuilder make;
  make.compute(0, 0, make.work({1000}), {}, 20);
  const Timeline line = simulate(make.program);
  EXPECT_EQ(line.end - line.begin, 1000);
}

// 3 tasks of 100 issued in 200 each: a step takes 600, whatever the GPU does (I39).
TEST(Host, AStepNeverTakesLessThanItsLaunches) {
  ProgramBuilder make;
  const int work = make.work({100});
  for (int i = 0; i < 3; ++i) make.compute(0, 0, work, {}, 200);
  const Timeline line = simulate(make.program);
  EXPECT_EQ(line.end - line.begin, 600);
}

}  // namespace
}  // namespace stepcast
