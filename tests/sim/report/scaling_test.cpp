#include "sim/report/scaling.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

Scenario scenario_of(int nodes, int micro_batch, int accumulation) {
  Scenario scenario;
  scenario.cluster.nodes = nodes;
  scenario.cluster.gpus_per_node = 8;
  scenario.training.micro_batch_size = micro_batch;
  scenario.training.gradient_accumulation_steps = accumulation;
  return scenario;
}

ScenarioPoint point_of(int nodes, const std::string& fabric) {
  ScenarioPoint point;
  point.settings = {{"cluster.nodes", Value::of(std::int64_t{nodes})}, {"cluster.fabric", Value::of(fabric)}};
  point.scenario = scenario_of(nodes, 1, 1);
  return point;
}

TEST(ScalingGroups, ThePointsThatDifferOnlyInSizeAreOneGroupAndTheSmallestIsItsBaseline) {
  const std::vector<ScenarioPoint> points = {point_of(4, "a"), point_of(4, "b"), point_of(2, "a"),
                                             point_of(2, "b")};
  const auto groups = scaling_groups(points);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].points, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(groups[0].smallest, 2U);
  EXPECT_TRUE(groups[0].sizes_differ);
  EXPECT_EQ(groups[1].smallest, 3U);
}

TEST(ScalingGroups, PointsThatCannotExistAreNoBaseline) {
  std::vector<ScenarioPoint> points = {point_of(1, "a"), point_of(2, "a")};
  points[0].scenario.reset();
  points[0].invalid = "indivisible";
  const auto groups = scaling_groups(points);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].smallest, 1U);
  EXPECT_FALSE(groups[0].sizes_differ);
}

// 8 GPUs x 1 x 16 = 128 sequences; on 32 GPUs 4 each: 4 micro-batches of 1.
TEST(StrongScaling, DividesTheAccumulationFirst) {
  const auto strong = strong_companion(scenario_of(4, 1, 16), scenario_of(1, 1, 16));
  ASSERT_TRUE(strong);
  EXPECT_EQ(strong->training.gradient_accumulation_steps, 4);
  EXPECT_EQ(strong->training.micro_batch_size, 1);
  EXPECT_EQ(strong->global_batch_size(), 128);
}

// 8 x 8 x 1 = 64; on 32 GPUs 2 each: one micro-batch of 2.
TEST(StrongScaling, ThenTheMicroBatch) {
  const auto strong = strong_companion(scenario_of(4, 8, 1), scenario_of(1, 8, 1));
  ASSERT_TRUE(strong);
  EXPECT_EQ(strong->training.micro_batch_size, 2);
  EXPECT_EQ(strong->training.gradient_accumulation_steps, 1);
}

// 8 x 1 x 1 = 8 sequences are too few for 32 GPUs; 8 x 4 x 3 = 96 are 3 for each, less than a micro-batch
// of 4.
TEST(StrongScaling, AnIndivisibleBatchHasNone) {
  EXPECT_FALSE(strong_companion(scenario_of(4, 1, 1), scenario_of(1, 1, 1)));
  const auto uneven = strong_companion(scenario_of(4, 4, 3), scenario_of(1, 4, 3));
  ASSERT_TRUE(uneven);
  EXPECT_EQ(uneven->training.micro_batch_size, 3);
  // 8 x 4 x 5 = 160 are 5 for each: more than one micro-batch of 4, and not a whole number of them.
  EXPECT_FALSE(strong_companion(scenario_of(4, 4, 5), scenario_of(1, 4, 5)));
}

TEST(StrongScaling, AMeasuredWorkloadKeepsItsMicroBatch) {
  Scenario smallest = scenario_of(1, 8, 1), larger = scenario_of(4, 8, 1);
  larger.model.request.workload = "w.toml";
  EXPECT_FALSE(strong_companion(larger, smallest));
  larger.model.scale_compute = true;
  EXPECT_TRUE(strong_companion(larger, smallest));
}

// The optimizer took 8 ms on 8 GPUs and takes 2 ms on 32; everything else is equal.
TEST(Superlinear, NamesTheOptimizerAndThePlansNotesSayWhyItShrank) {
  PointReport baseline, point;
  baseline.gpus = 8;
  baseline.global_batch_size = 8;
  point.gpus = 32;
  point.global_batch_size = 32;
  baseline.breakdown.optimizer = Seconds(8e-3);
  point.breakdown.optimizer = Seconds(2e-3);
  baseline.breakdown.compute = point.breakdown.compute = Seconds(50e-3);
  EXPECT_EQ(reason_for_superlinear(point, baseline),
            "the optimizer takes 8.00 ms -> 2.00 ms per GPU and sample");
  point.efficiency_notes = {"the optimizer updates 1/32 instead of 1/8"};
  EXPECT_EQ(reason_for_superlinear(point, baseline), "the optimizer updates 1/32 instead of 1/8");
}

// One GPU per node feeds one NIC, eight feed eight: 4 ms against 1 ms of waiting. The optimizer's shard gains
// 0.5 ms, less, so it comes second.
TEST(Superlinear, NamesTheNicsThatABaselineOfFewerGpusPerNodeLacks) {
  PointReport baseline, point;
  baseline.global_batch_size = baseline.gpus = 2;
  baseline.gpus_per_node = baseline.nics_used = 1;
  point.global_batch_size = point.gpus = 16;
  point.gpus_per_node = point.nics_used = 8;
  baseline.breakdown.exposed_communication = Seconds(4e-3);
  point.breakdown.exposed_communication = Seconds(1e-3);
  const std::string network =
      "the baseline has fewer GPUs per node (1 instead of 8), which use 1 NIC per node instead of 8, so it "
      "waits "
      "longer for the network: exposed communication takes 4.00 ms -> 1.00 ms per GPU and sample";
  EXPECT_EQ(reason_for_superlinear(point, baseline), network);
  baseline.breakdown.optimizer = Seconds(1e-3);
  point.breakdown.optimizer = Seconds(0.5e-3);
  point.efficiency_notes = {"the optimizer updates 1/16"};
  EXPECT_EQ(reason_for_superlinear(point, baseline), network + "; the optimizer updates 1/16");
}

// With as many GPUs per node and the same algorithms no cause is known, and none is made up.
TEST(Superlinear, NamesAnotherAlgorithmOrNoCauseForLessCommunication) {
  PointReport baseline, point;
  baseline.global_batch_size = point.global_batch_size = baseline.gpus = point.gpus = 8;
  baseline.breakdown.exposed_communication = Seconds(4e-3);
  point.breakdown.exposed_communication = Seconds(1e-3);
  const std::string times = "exposed communication takes 4.00 ms -> 1.00 ms per GPU and sample";
  EXPECT_EQ(reason_for_superlinear(point, baseline), times);
  CommunicationRow row;
  row.operation = "all_reduce";
  row.group = "world";
  row.count = 4;
  row.choices = {{"ring", "Simple", 8, 4}};
  baseline.communication = {row};
  row.choices = {{"tree", "Simple", 8, 4}};
  point.communication = {row};
  EXPECT_EQ(reason_for_superlinear(point, baseline),
            "all_reduce (world) runs as tree/Simple instead of ring/Simple: " + times);
}

}  // namespace
}  // namespace stepcast
