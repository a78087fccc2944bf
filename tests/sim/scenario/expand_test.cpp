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

TEST(Expand, ASweptKeyThatDoesNotExistIsAFault) {
  const ScenarioText text(plain_scenario + "[what_if]\n\"cluster.nodse\" = [1, 2]\n");
  EXPECT_THROW((void)expand(load_scenario(text.path(), {})), ScenarioError);
}

}  // namespace
}  // namespace stepcast
