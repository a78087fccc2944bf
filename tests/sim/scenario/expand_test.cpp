#include <gtest/gtest.h>

#include "scenario_text.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

using testing::plain_scenario;
using testing::ScenarioText;

// 2 x 3 points; the last key runs fastest: (1, 1) (1, 4) (1, 16) (2, 1) ...
TEST(Expand, CrossProductInOrderLastKeyFastest) {
  const ScenarioText text(
      plain_scenario +
      "[what_if]\n\"cluster.nodes\" = [1, 2]\n\"training.gradient_accumulation_steps\" = [1, 4, 16]\n");
  const auto points = expand(load_scenario(text.path(), {}));
  ASSERT_EQ(points.size(), 6U);
  EXPECT_EQ(points[1].scenario->cluster.nodes, 1);
  EXPECT_EQ(points[1].scenario->training.gradient_accumulation_steps, 4);
  EXPECT_EQ(points[3].scenario->cluster.nodes, 2);
  EXPECT_EQ(points[3].scenario->training.gradient_accumulation_steps, 1);
}

// 96 samples over 2 per GPU: 8 GPUs x 2 = 16 -> 6 steps; 16 GPUs -> 3; 32 GPUs x 2 = 64 does not divide 96.
TEST(Expand, ACombinationThatCannotExistIsAnInvalidPoint) {
  const ScenarioText text(plain_scenario +
                          "global_batch_size = 96\n[what_if]\n\"cluster.nodes\" = [1, 2, 4]\n");
  const auto points = expand(load_scenario(text.path(), {}));
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].scenario->training.gradient_accumulation_steps, 6);
  EXPECT_EQ(points[1].scenario->training.gradient_accumulation_steps, 3);
  EXPECT_FALSE(points[2].scenario);
  EXPECT_NE(points[2].invalid.find("not divisible"), std::string::npos);
}

TEST(Expand, AnUnsupportedPairIsInvalidInASweepAndAFaultAlone) {
  const ScenarioText sweep(
      plain_scenario +
      "software = \"pytorch-eager\"\n[what_if]\n\"training.strategy\" = [\"ddp\", \"zero2\"]\n");
  const auto points = expand(load_scenario(sweep.path(), {}));
  EXPECT_TRUE(points[0].scenario);
  EXPECT_FALSE(points[1].scenario);
  const ScenarioText text(plain_scenario + "software = \"pytorch-eager\"\n");
  EXPECT_THROW((void)expand(load_scenario(text.path(), {{"training.strategy", "zero2"}})), ScenarioError);
}

TEST(Expand, TheSameFaultAtManyPointsIsOneFault) {
  const ScenarioText text(plain_scenario +
                          "bucket_sise = \"25 MiB\"\n[what_if]\n\"cluster.nodes\" = [1, 2, 4]\n");
  try {
    (void)expand(load_scenario(text.path(), {}));
    FAIL();
  } catch (const ScenarioError& error) {
    ASSERT_EQ(error.diagnostics().size(), 1U);
    EXPECT_EQ(error.diagnostics()[0].place.line, 12U);
    EXPECT_EQ(error.diagnostics()[0].hint, "did you mean \"bucket_size\"?");
  }
}

TEST(Expand, ALengthThatTheModelCantTakeIsAnInvalidPoint) {
  const ScenarioText text(plain_scenario + "[what_if]\n\"model.sequence_length\" = [512, 2048]\n");
  const auto points = expand(load_scenario(text.path(), {}));
  ASSERT_EQ(points.size(), 2U);
  EXPECT_TRUE(points[0].scenario);
  EXPECT_NE(points[1].invalid.find("longer than the 1024 learned positions"), std::string::npos);
}

TEST(Expand, FaultsBehindASweptKeyAreShownToo) {
  std::string base = plain_scenario;
  base.replace(base.find("nodes = 2"), 9, "nodes = -2");
  const ScenarioText text(base + "[what_if]\n\"cluster.nodes\" = [1, 2]\n");
  EXPECT_THROW((void)expand(load_scenario(text.path(), {})), ScenarioError);
}

// 3 x 8 = 24 GPUs in groups of 3: possible; 8 GPUs of one node are not divisible by 3.
// 1000 x 3000 x 1024 = 3,072,000,000 samples, more than 32 bits hold.
TEST(Expand, LargeBatchesAreCountedInFull) {
  const ScenarioText text(plain_scenario);
  const Scenario large =
      *expand(load_scenario(text.path(), {{"cluster.nodes", "128"},
                                          {"training.micro_batch_size", "1000"},
                                          {"training.gradient_accumulation_steps", "3000"}}))[0]
           .scenario;
  EXPECT_EQ(large.global_batch_size(), 3072000000);
  EXPECT_THROW(
      (void)expand(load_scenario(text.path(), {{"cluster.nodes", "100000"},
                                               {"training.micro_batch_size", "1000000"},
                                               {"training.gradient_accumulation_steps", "1000000"}})),
      ScenarioError);
}

TEST(Expand, ABaselineThatCantExistIsNone) {
  const ScenarioText text(plain_scenario);
  const Scenario three = *expand(load_scenario(
      text.path(),
      {{"cluster.nodes", "3"}, {"training.strategy", "hsdp"}, {"training.shard_degree", "3"}}))[0]
                              .scenario;
  EXPECT_FALSE(with_nodes(three, 1));
  // 96 samples at 2 per GPU: 6 steps on 8 GPUs, 3 on 16.
  const Scenario two =
      *expand(load_scenario(text.path(), {{"training.global_batch_size", "96"}}))[0].scenario;
  ASSERT_TRUE(with_nodes(two, 1));
  EXPECT_EQ(with_nodes(two, 1)->training.gradient_accumulation_steps, 6);
  EXPECT_EQ(with_nodes(two, 1)->global_batch_size(), 96);
}

TEST(Expand, ASweptKeyThatDoesNotExistIsAFault) {
  const ScenarioText text(plain_scenario + "[what_if]\n\"cluster.nodse\" = [1, 2]\n");
  EXPECT_THROW((void)expand(load_scenario(text.path(), {})), ScenarioError);
}

}  // namespace
}  // namespace stepcast
