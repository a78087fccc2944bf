#include <gtest/gtest.h>

#include "scenario_text.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

using testing::plain_scenario;
using testing::ScenarioText;

TEST(LoadScenario, ASettingBecomesOnePoint) {
  const ScenarioText text(plain_scenario);
  const auto points = expand(load_scenario(text.path(), {}));
  ASSERT_EQ(points.size(), 1U);
  ASSERT_TRUE(points[0].scenario);
  const Scenario& scenario = *points[0].scenario;
  EXPECT_EQ(scenario.gpus(), 16);
  EXPECT_EQ(scenario.global_batch_size(), 32);  // 2 per GPU x 16 GPUs x 1
  EXPECT_EQ(scenario.training.software, "pytorch-compiled");
  EXPECT_TRUE(points[0].settings.empty());
}

TEST(LoadScenario, SetReadsTomlElseTextAndListsSplitAtTopLevelCommas) {
  const ScenarioText text(plain_scenario);
  const ScenarioFile file = load_scenario(
      text.path(),
      {{"cluster.nodes", "1, 2,4"}, {"training.strategy", "fsdp"}, {"cluster.link_rate", "200 Gb/s"}});
  ASSERT_EQ(file.swept.size(), 1U);
  EXPECT_EQ(file.swept[0].values.size(), 3U);
  const auto points = expand(file);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[2].scenario->cluster.nodes, 4);
  EXPECT_EQ(points[2].scenario->training.strategy, Strategy::fsdp);
  EXPECT_DOUBLE_EQ(points[2].scenario->cluster.link_rate->value, 25e9);
  // Every swept key and every --set key is a setting.
  ASSERT_EQ(points[2].settings.size(), 3U);
  EXPECT_EQ(points[2].settings[0].first, "cluster.nodes");
  EXPECT_EQ(points[2].settings[1].first, "training.strategy");
}

TEST(LoadScenario, SetOnASweptKeyReplacesTheSweep) {
  const ScenarioText text(plain_scenario + "[what_if]\n\"cluster.nodes\" = [1, 2, 4]\n");
  EXPECT_EQ(expand(load_scenario(text.path(), {})).size(), 3U);
  const auto one = expand(load_scenario(text.path(), {{"cluster.nodes", "8"}}));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].scenario->cluster.nodes, 8);
  EXPECT_EQ(one[0].settings.size(), 1U);
  EXPECT_EQ(expand(load_scenario(text.path(), {{"cluster.nodes", "[8, 16]"}})).size(), 2U);
}

TEST(LoadScenario, PathsAreRelativeToTheFileAndOnTheCommandLineToTheWorkingDirectory) {
  const ScenarioText text(plain_scenario);
  const ScenarioFile file = load_scenario(text.path(), {{"cluster.profile", "some/where.toml"}});
  EXPECT_EQ(expand(file)[0].scenario->cluster.profiles, std::vector<std::string>{"some/where.toml"});
  const ScenarioText inside(
      std::string(plain_scenario).replace(plain_scenario.find("fabric"), 0, "profile = [\"mine.toml\"]\n"));
  EXPECT_EQ(expand(load_scenario(inside.path(), {}))[0].scenario->cluster.profiles,
            std::vector<std::string>{(inside.folder() / "mine.toml").string()});
}

TEST(LoadScenario, APresetWithoutALengthRunsAtItsOwnAndSaysSo) {
  std::string base = plain_scenario;
  base.erase(base.find("sequence_length"), std::string("sequence_length = 1024\n").size());
  const ScenarioText text(base);
  const auto points = expand(load_scenario(text.path(), {}));
  ASSERT_EQ(points[0].scenario->notes.size(), 1U);
  EXPECT_EQ(points[0].scenario->notes[0],
            "model.sequence_length is not given: 1024 tokens, the preset's own");
}

TEST(LoadScenario, AnEmptyValueIsAFaultOfTheOption) {
  const ScenarioText text(plain_scenario);
  EXPECT_THROW((void)load_scenario(text.path(), {{"cluster.nodes", "1,2,"}}), ScenarioError);
}

TEST(LoadScenario, AMissingFileIsNamedAsItWasGiven) {
  try {
    (void)load_scenario("no/such.toml", {});
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.diagnostics().front().place.file, "no/such.toml");
  }
}

}  // namespace
}  // namespace stepcast
