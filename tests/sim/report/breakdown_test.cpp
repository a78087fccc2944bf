#include "sim/report/breakdown.hpp"

#include <gtest/gtest.h>

#include "tests/sim/report/example_step.hpp"

namespace stepcast {
namespace {

double us(Seconds time) { return time.value * 1e6; }

// 0-100 forward, 100-300 backward, the all-reduce runs 200-350: 50 us stick out behind the backward; the
// optimizer runs 350-400 and the CPU lets the GPU wait for 400-410. 300 + 50 + 50 + 10 = 410.
TEST(Breakdown, CountsEachInstantOnceInTheOrderOfTheContract) {
  ExampleStep step;
  step.kernel(TaskRole::forward, 0, 100);
  step.kernel(TaskRole::backward, 100, 300);
  const int exposed = step.collective("all_reduce", 1e6, 200, 200, 350);
  step.kernel(TaskRole::optimizer, 350, 400);
  step.window(0, 410);
  const StepAnalysis analysis = analyse_step(step.program, step.timeline);
  EXPECT_DOUBLE_EQ(us(analysis.breakdown.compute), 300);
  EXPECT_DOUBLE_EQ(us(analysis.breakdown.exposed_communication), 50);
  EXPECT_DOUBLE_EQ(us(analysis.breakdown.optimizer), 50);
  EXPECT_NEAR(us(analysis.breakdown.host), 10, 1e-9);
  EXPECT_EQ(analysis.breakdown.input.value, 0);
  EXPECT_EQ(analysis.breakdown.pipeline_bubble.value, 0);
  EXPECT_DOUBLE_EQ(us(analysis.exposed[static_cast<std::size_t>(exposed)]), 50);
  EXPECT_NEAR(analysis.breakdown.sum().value, 410e-6, 1e-18);
}

// The optimizer's kernels run 100-110 and 130-140; the gap between them is its launch wait: 40 us in all.
// While an all-gather moves in such a gap (150-180 of 140-190), that is communication: 40 + 20 + 30 us gap
// and 10 us kernel.
TEST(Breakdown, TheOptimizersLaunchWaitsAreItsOwnUnlessBytesMove) {
  ExampleStep step;
  step.kernel(TaskRole::backward, 0, 100);
  step.kernel(TaskRole::optimizer, 100, 110);
  step.kernel(TaskRole::optimizer, 130, 140);
  step.collective("all_gather", 1e6, 150, 150, 180);
  step.kernel(TaskRole::optimizer, 190, 200);
  step.window(0, 200);
  const Breakdown parts = analyse_step(step.program, step.timeline).breakdown;
  EXPECT_DOUBLE_EQ(us(parts.optimizer), 70);
  EXPECT_DOUBLE_EQ(us(parts.exposed_communication), 30);
  EXPECT_DOUBLE_EQ(us(parts.compute), 100);
}

// A collective that is resident and waits for late ranks is exposed like one that moves: 100-150 waits,
// 150-200 moves.
TEST(Breakdown, WaitingForLateRanksIsExposedCommunication) {
  ExampleStep step;
  step.kernel(TaskRole::backward, 0, 100);
  step.collective("all_reduce", 1e6, 100, 150, 200);
  step.window(0, 200);
  EXPECT_DOUBLE_EQ(us(analyse_step(step.program, step.timeline).breakdown.exposed_communication), 100);
}

// A receive that waits for its peer is a bubble (100-150); the transfer itself is communication (150-160).
TEST(Breakdown, AReceiveThatWaitsForItsPeerIsAPipelineBubble) {
  ExampleStep step;
  step.kernel(TaskRole::forward, 0, 100);
  step.collective("send_recv", 1e6, 100, 150, 160);
  step.window(0, 160);
  const Breakdown parts = analyse_step(step.program, step.timeline).breakdown;
  EXPECT_DOUBLE_EQ(us(parts.pipeline_bubble), 50);
  EXPECT_DOUBLE_EQ(us(parts.exposed_communication), 10);
}

// The loader holds the rank 0-40, the kernel starts at 30: 30 us are input.
TEST(Breakdown, WaitingForTheLoaderIsInput) {
  ExampleStep step;
  step.host_wait(TaskRole::input, 0, 40);
  step.kernel(TaskRole::forward, 30, 100);
  step.window(0, 100);
  const Breakdown parts = analyse_step(step.program, step.timeline).breakdown;
  EXPECT_DOUBLE_EQ(us(parts.input), 30);
  EXPECT_DOUBLE_EQ(us(parts.host), 0);
}

// The step is [1000, 1100]. An all-gather of its parameters ran 1090-1120 of the steady state, 20 us of it in
// the next step: by periodicity 20 us of the one before reach into this step. The kernel starts at 1020, so
// all 30 are exposed.
TEST(Breakdown, WorkOverTheEndOfTheStepIsFoldedBackIntoIt) {
  ExampleStep step;
  step.kernel(TaskRole::forward, 1020, 1090);
  step.collective("all_gather", 1e6, 1090, 1090, 1120);
  step.window(1000, 1100);
  const Breakdown parts = analyse_step(step.program, step.timeline).breakdown;
  EXPECT_DOUBLE_EQ(us(parts.exposed_communication), 30);
  EXPECT_DOUBLE_EQ(us(parts.compute), 70);
}

// Two micro-batches are written out, 0-100 and 100-200, each 80 us of compute and 20 us of exposed
// reduce-scatter; the first stands for three more: 5 x 80 = 400 us and 5 x 20 = 100 us, and the optimizer's
// 10 us once.
TEST(Breakdown, ARepeatedMicroBatchCountsAsOftenAsItRuns) {
  ExampleStep step;
  const int first = step.kernel(TaskRole::forward, 0, 80, 0);
  const int reduce = step.collective("reduce_scatter", 1e6, 80, 80, 100, 0);
  const int second = step.kernel(TaskRole::forward, 100, 180, 1);
  step.collective("reduce_scatter", 1e6, 180, 180, 200, 1);
  step.kernel(TaskRole::optimizer, 200, 210, -1);
  step.window(0, 210);
  step.repeat(first, second, 3);
  const StepAnalysis analysis = analyse_step(step.program, step.timeline);
  EXPECT_NEAR(us(analysis.breakdown.compute), 400, 1e-9);
  EXPECT_NEAR(us(analysis.breakdown.exposed_communication), 100, 1e-9);
  EXPECT_NEAR(us(analysis.breakdown.optimizer), 10, 1e-9);
  EXPECT_NEAR(us(analysis.breakdown.sum()), 510, 1e-9);
  EXPECT_NEAR(us(analysis.exposed[static_cast<std::size_t>(reduce)]), 80, 1e-9);
  EXPECT_EQ(repetitions(step.program, step.program.tasks[static_cast<std::size_t>(reduce)]), 4);
  EXPECT_EQ(repetitions(step.program, step.program.tasks[static_cast<std::size_t>(second)]), 1);
}

// Rank 1 computes 90 us, rank 0 only 50: the others wait for rank 1.
TEST(Breakdown, TheCriticalRankIsTheOneThatComputesLongest) {
  ExampleStep step;
  step.kernel(TaskRole::forward, 0, 50, 0, 0);
  step.kernel(TaskRole::forward, 0, 90, 0, 1);
  step.window(0, 100);
  const StepAnalysis analysis = analyse_step(step.program, step.timeline);
  EXPECT_EQ(analysis.critical_rank, 1);
  EXPECT_DOUBLE_EQ(us(analysis.breakdown.compute), 90);
}

// A task of 10 kernels that take 30 us alone, of which the CPU issues one every 10 us: the first at 10, the
// last at 100. It ends with the last launch, so 30 of its 90 us are compute and 60 are gaps between kernels.
TEST(Breakdown, GapsBetweenTheKernelsOfACpuBoundTaskAreHostTime) {
  ExampleStep step;
  const int task = step.kernel(TaskRole::forward, 10, 100);
  step.program.tasks[static_cast<std::size_t>(task)].host_time = ExampleStep::picoseconds(100);
  step.program.works[0].kernels = 10;
  step.program.works[0].durations = {ExampleStep::picoseconds(30)};
  step.window(0, 100);
  const Breakdown parts = analyse_step(step.program, step.timeline).breakdown;
  EXPECT_DOUBLE_EQ(us(parts.compute), 30);
  EXPECT_DOUBLE_EQ(us(parts.host), 70);  // and the 10 us before the first launch
}

// Two collectives of two communicators are exposed together for 100-200: 50 us each.
TEST(Breakdown, AnInstantWithTwoExposedCollectivesIsSharedByThem) {
  ExampleStep step;
  step.kernel(TaskRole::backward, 0, 100);
  const int a = step.collective("reduce_scatter", 1e6, 50, 50, 200);
  const int b = step.collective("all_gather", 1e6, 80, 80, 200);
  step.window(0, 200);
  const StepAnalysis analysis = analyse_step(step.program, step.timeline);
  EXPECT_DOUBLE_EQ(us(analysis.exposed[static_cast<std::size_t>(a)]), 50);
  EXPECT_DOUBLE_EQ(us(analysis.exposed[static_cast<std::size_t>(b)]), 50);
}

}  // namespace
}  // namespace stepcast
