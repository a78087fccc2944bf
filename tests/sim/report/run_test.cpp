#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostic.hpp"
#include "tests/sim/report/question.hpp"

namespace stepcast {
namespace {

TEST(Run, OneSizeAskedIsComparedWithOneNodeThatIsNotAmongThePoints) {
  const Report report = answer({});
  ASSERT_EQ(report.points.size(), 1U);
  const PointReport& point = report.points[0];
  EXPECT_EQ(point.gpus, 16);
  ASSERT_TRUE(point.scaling_efficiency);
  EXPECT_EQ(point.baseline_gpus, 8);
  ASSERT_EQ(point.baseline.size(), 1U);
  EXPECT_EQ(point.baseline[0].first, "cluster.nodes");
  EXPECT_EQ(point.baseline[0].second.integer, 1);
  const Report one = answer({{"cluster.nodes", "1"}});
  EXPECT_NEAR(*point.scaling_efficiency, (point.samples_per_s / 16) / (one.points[0].samples_per_s / 8),
              1e-12);
  EXPECT_EQ(one.points[0].scaling_efficiency, 1.0);
}

// 2 nodes, global batch 128 in micro-batches of 4 on 16 GPUs: 2 steps; on one node 4. Asked alone or swept,
// the baseline keeps the global batch.
TEST(Run, OneSizeAloneHasTheEfficiencyThatItHasInASweep) {
  for (const char* batch : {"gradient_accumulation_steps", "global_batch_size"}) {
    const std::string value = std::string(batch) == "global_batch_size" ? "128" : "2";
    const std::vector<Override> set = {{std::string("training.") + batch, value}};
    auto alone = set, swept = set;
    alone.push_back({"cluster.nodes", "2"});
    swept.push_back({"cluster.nodes", "1,2"});
    const Report one = answer(alone), two = answer(swept);
    ASSERT_TRUE(one.points[0].scaling_efficiency && two.points[1].scaling_efficiency) << batch;
    EXPECT_DOUBLE_EQ(*one.points[0].scaling_efficiency, *two.points[1].scaling_efficiency) << batch;
  }
}

// Shards over 16 GPUs do not exist on one node of 8.
TEST(Run, ABaselineThatCannotExistIsNone) {
  const std::vector<Override> hsdp = {{"training.strategy", "hsdp"}, {"training.shard_degree", "16"}};
  const Report alone = answer(hsdp);
  EXPECT_FALSE(alone.points[0].scaling_efficiency);
  EXPECT_TRUE(alone.points[0].baseline.empty());
  auto sweep = hsdp;
  sweep.push_back({"cluster.nodes", "1,2,4"});
  const Report swept = answer(sweep);
  EXPECT_NE(swept.points[0].invalid, "");
  EXPECT_EQ(swept.points[1].scaling_efficiency, 1.0);  // the smallest that exists
  EXPECT_EQ(swept.points[2].baseline_gpus, 16);
  sweep.back().text = "1,2";
  EXPECT_FALSE(answer(sweep).points[1].scaling_efficiency);
  EXPECT_THAT(to_table(answer(sweep)), testing::ContainsRegex("\\* +2 +16 +[0-9.]+ [kM] +- "));
}

// 500 MB of gradients at 1 b/s take 126 years.
TEST(Run, APointThatTheClockCannotCountIsInvalid) {
  const Report report = answer({{"cluster.link_rate", "1 b/s,200 Gb/s"}});
  EXPECT_THAT(report.points[0].invalid, testing::HasSubstr("46 days"));
  ASSERT_TRUE(report.points[0].fault);
  EXPECT_THAT(report.points[0].fault->place.file, testing::HasSubstr("question-"));
  EXPECT_EQ(report.points[1].invalid, "");
  EXPECT_THROW((void)answer({{"cluster.link_rate", "1 b/s"}}), ScenarioError);
}

TEST(Run, TheTitleIsTheScenariosEvenWhenNoPointExists) {
  const Report report = answer({{"training.global_batch_size", "65,66"}});
  EXPECT_NE(report.points[0].invalid, "");
  EXPECT_NE(report.points[1].invalid, "");
  EXPECT_EQ(report.title, "small");
}

TEST(Run, MoreGpusPerNodeThanTheBaselineExplainsBetterScalingByTheNetwork) {
  const Report report = answer({{"cluster.gpus_per_node", "1,8"}});
  ASSERT_GT(*report.points[1].scaling_efficiency, 1);
  const std::string why = warnings_with(report.points[1], "scaling efficiency is ");
  EXPECT_THAT(why, testing::HasSubstr("1 NIC per node instead of 8"));
  EXPECT_THAT(why, testing::Not(testing::HasSubstr("shard")));
}

TEST(Run, SweptSizesAreComparedWithTheSmallestThatWasAskedFor) {
  const Report report = answer({{"cluster.nodes", "4,2"}, {"training.strategy", "ddp,fsdp"}});
  ASSERT_EQ(report.points.size(), 4U);
  // Cross product, last key fastest: (4, ddp) (4, fsdp) (2, ddp) (2, fsdp).
  EXPECT_EQ(report.points[1].gpus, 32);
  EXPECT_EQ(report.points[1].strategy, "fsdp");
  EXPECT_EQ(report.points[2].gpus, 16);
  EXPECT_EQ(report.points[2].strategy, "ddp");
  for (const PointReport& point : report.points) EXPECT_EQ(point.baseline_gpus, 16);
  EXPECT_EQ(report.points[2].scaling_efficiency, 1.0);
  EXPECT_NEAR(*report.points[1].scaling_efficiency,
              (report.points[1].samples_per_s / 32) / (report.points[3].samples_per_s / 16), 1e-12);
}

// 2 nodes: 16 GPUs x 4 x 2 = 128 samples. 4 nodes at 128 have 4 each: one accumulation step, which is asked
// as well.
TEST(Run, StrongScalingIsThePointWithFewerAccumulationSteps) {
  const Report report = answer({{"cluster.nodes", "2,4"}, {"training.gradient_accumulation_steps", "1,2"}});
  ASSERT_EQ(report.points.size(), 4U);
  const PointReport& small = report.points[1];   // 2 nodes, 2 steps
  const PointReport& strong = report.points[2];  // 4 nodes, 1 step
  const PointReport& large = report.points[3];   // 4 nodes, 2 steps
  EXPECT_EQ(strong.global_batch_size, small.global_batch_size);
  ASSERT_TRUE(large.strong_efficiency);
  EXPECT_NEAR(*large.strong_efficiency, (strong.samples_per_s / 32) / (small.samples_per_s / 16), 1e-12);
  EXPECT_EQ(large.weak_efficiency, large.scaling_efficiency);
}

TEST(Run, TheResultDoesNotDependOnTheNumberOfThreads) {
  const std::vector<Override> sweep = {{"cluster.nodes", "1,2,3"}, {"training.strategy", "ddp,zero1,fsdp"}};
  RunOptions one, two;
  one.jobs = 1;
  two.jobs = 2;
  EXPECT_EQ(to_json(answer(sweep, one)), to_json(answer(sweep, two)));
}

TEST(Run, UnfoldedGivesTheSameStepTime) {
  RunOptions unfolded;
  unfolded.unfolded = true;
  for (const char* strategy : {"ddp", "fsdp"}) {
    const Report folded = answer({{"training.strategy", strategy}});
    const Report full = answer({{"training.strategy", strategy}}, unfolded);
    EXPECT_NEAR(full.points[0].step_time / folded.points[0].step_time, 1, 1e-6) << strategy;
  }
}

TEST(Run, CancellingThrowsInterrupted) {
  const std::atomic<bool> cancel{true};
  RunOptions options;
  options.cancel = &cancel;
  EXPECT_THROW((void)answer({}, options), Interrupted);
}

}  // namespace
}  // namespace stepcast
