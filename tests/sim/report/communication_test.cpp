#include "sim/report/communication.hpp"

#include <gtest/gtest.h>

#include "tests/sim/report/example_step.hpp"

namespace stepcast {
namespace {

// Two all-reduces over 4 ranks, 10 MB in 100 us and 30 MB in 300 us: 20 MB in 200 us on average, so
// bus bandwidth = 2 * 3/4 * 20e6 B / 200e-6 s = 150 GB/s. The second one is exposed for 100 us after the
// kernel.
TEST(Communication, ARowHoldsMeanBytesCountAndBusBandwidthAsNcclTestsDefinesIt) {
  ExampleStep step;
  step.kernel(TaskRole::backward, 0, 300);
  step.collective("all_reduce", 10e6, 0, 0, 100);
  step.collective("all_reduce", 30e6, 100, 100, 400);
  step.window(0, 400);
  const auto rows =
      communication_rows(step.program, step.timeline, analyse_step(step.program, step.timeline));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].operation, "all_reduce");
  EXPECT_EQ(rows[0].group, "data parallel");
  EXPECT_EQ(rows[0].algorithm, "ring");
  EXPECT_DOUBLE_EQ(rows[0].bytes.value, 20e6);
  EXPECT_DOUBLE_EQ(rows[0].count, 2);
  EXPECT_NEAR(rows[0].time.value, 400e-6, 1e-15);
  EXPECT_NEAR(rows[0].exposed.value, 100e-6, 1e-15);
  EXPECT_NEAR(rows[0].bus_bandwidth.value, 150e9, 1);
}

// Resident at 0, moving at 60: the wait for late ranks is no moving time.
TEST(Communication, WaitingForLateRanksIsNotMovingTime) {
  ExampleStep step;
  step.collective("all_gather", 1e6, 0, 60, 100);
  step.window(0, 100);
  const auto rows =
      communication_rows(step.program, step.timeline, analyse_step(step.program, step.timeline));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NEAR(rows[0].time.value, 40e-6, 1e-15);
}

// Behind the kernel (0-100) the call waits for late ranks until 160 and moves until 200: 100 us of the step
// are exposed, of which 40 us belong to the row. Of another one (170-190) in the same instants each has half:
// 20 us of the step, 10 each, so 40 - 10 = 30 us and 10 us.
TEST(Communication, ExposedTimeIsPartOfMovingTime) {
  ExampleStep step;
  step.kernel(TaskRole::backward, 0, 100);
  step.collective("all_gather", 1e6, 100, 160, 200);
  step.collective("reduce_scatter", 1e6, 100, 170, 190);
  step.window(0, 200);
  const StepAnalysis analysis = analyse_step(step.program, step.timeline);
  EXPECT_NEAR(analysis.breakdown.exposed_communication.value, 100e-6, 1e-15);
  const auto rows = communication_rows(step.program, step.timeline, analysis);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NEAR(rows[0].time.value, 40e-6, 1e-15);
  EXPECT_NEAR(rows[0].exposed.value, 30e-6, 1e-15);
  EXPECT_NEAR(rows[1].time.value, 20e-6, 1e-15);
  EXPECT_NEAR(rows[1].exposed.value, 10e-6, 1e-15);
}

// Two calls on 8 channels and one that the test moves to 2.
TEST(Communication, ARowKnowsHowManyCallsRunInWhichWay) {
  ExampleStep step;
  step.collective("all_reduce", 1e6, 0, 0, 10);
  step.collective("all_reduce", 1e6, 10, 10, 20);
  step.collective("all_reduce", 1e3, 20, 20, 21);
  step.program.descriptions[2].channels = 2;
  step.window(0, 30);
  const auto rows =
      communication_rows(step.program, step.timeline, analyse_step(step.program, step.timeline));
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_EQ(rows[0].choices.size(), 2U);
  EXPECT_EQ(rows[0].choices[0].channels, 2);
  EXPECT_DOUBLE_EQ(rows[0].choices[0].count, 1);
  EXPECT_DOUBLE_EQ(rows[0].choices[1].count, 2);
}

// One reduce-scatter per micro-batch; two written out, three repeated: five in a step, 5 * 20 us.
TEST(Communication, RepeatedMicroBatchesCount) {
  ExampleStep step;
  const int first = step.kernel(TaskRole::forward, 0, 80, 0);
  step.collective("reduce_scatter", 1e6, 80, 80, 100, 0);
  const int second = step.kernel(TaskRole::forward, 100, 180, 1);
  step.collective("reduce_scatter", 1e6, 180, 180, 200, 1);
  step.window(0, 200);
  step.repeat(first, second, 3);
  const auto rows =
      communication_rows(step.program, step.timeline, analyse_step(step.program, step.timeline));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_DOUBLE_EQ(rows[0].count, 5);
  EXPECT_DOUBLE_EQ(rows[0].bytes.value, 1e6);
  EXPECT_NEAR(rows[0].time.value, 100e-6, 1e-15);
  EXPECT_NEAR(rows[0].exposed.value, 100e-6, 1e-15);
}

// I3: a group of one moves nothing.
TEST(Communication, OneRankHasNoRows) {
  ExampleStep step;
  step.collective("all_reduce", 1e6, 0, 0, 0);
  step.program.descriptions[0].ranks = 1;
  step.window(0, 100);
  EXPECT_TRUE(
      communication_rows(step.program, step.timeline, analyse_step(step.program, step.timeline)).empty());
}

}  // namespace
}  // namespace stepcast
