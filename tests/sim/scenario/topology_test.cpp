#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "scenario_text.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::plain_scenario;
using testing::ScenarioText;

/// The plain scenario with further lines in [cluster].
std::string with_cluster(const std::string& lines) {
  std::string text = plain_scenario;
  return text.replace(text.find("[training]"), 0, lines + "\n");
}

Scenario scenario_of(const std::string& text) {
  const ScenarioText file(text);
  return *expand(load_scenario(file.path(), {})).front().scenario;
}

std::vector<Diagnostic> faults_of(const ScenarioText& text) {
  try {
    (void)expand(load_scenario(text.path(), {}));
  } catch (const ScenarioError& error) {
    return error.diagnostics();
  }
  return {};
}

std::vector<Diagnostic> faults_with(const std::string& lines) {
  return faults_of(ScenarioText(with_cluster(lines)));
}

TEST(TopologyKeys, ReachTheRequest) {
  const ClusterRequest dragonfly = request_of(
      scenario_of(
          with_cluster("topology = \"dragonfly+\"\ndragonfly_group = 4\ndragonfly_links = 6\nrouting = "
                       "\"ecmp\"\nrouting_seed = 7"))
          .cluster);
  EXPECT_EQ(dragonfly.topology, "dragonfly+");
  EXPECT_EQ(dragonfly.dragonfly_group, 4);
  EXPECT_EQ(dragonfly.dragonfly_links, 6);
  EXPECT_EQ(dragonfly.routing_seed, 7U);
  const ClusterRequest torus = request_of(
      scenario_of(with_cluster("topology = \"torus\"\ntorus = [1, 2]\ntorus_link_rate = \"800 Gb/s\""))
          .cluster);
  EXPECT_THAT(torus.torus, ElementsAre(1, 2));
  EXPECT_EQ(torus.torus_link_rate, gigabits_per_second(800));
  const ClusterRequest tree =
      request_of(scenario_of(with_cluster("topology = \"fat-tree\"\ncore_oversubscription = 3")).cluster);
  EXPECT_EQ(tree.core_oversubscription, 3);
}

TEST(TopologyKeys, OfAnotherTopologyAreNotes) {
  const auto notes =
      scenario_of(with_cluster("topology = \"rail-only\"\noversubscription = 2\ncore_oversubscription = "
                               "2\ntorus = [1, 2]\ntorus_link_rate = \"1 GB/s\"\ndragonfly_group = "
                               "2\ndragonfly_links = 2\nrouting_seed = 3"))
          .notes;
  for (const char* key : {"oversubscription", "core_oversubscription", "torus", "torus_link_rate",
                          "dragonfly_group", "dragonfly_links"})
    EXPECT_THAT(notes, Contains("cluster." + std::string(key) + " is not used by topology rail-only"));
  EXPECT_THAT(notes, Contains("cluster.routing_seed is not used by routing spray"));
}

TEST(TopologyKeys, OfATorusMustFitTheNodes) {
  const auto missing = faults_with("topology = \"torus\"");
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_THAT(missing[0].message, HasSubstr("cluster.torus is missing"));
  const auto other = faults_with("topology = \"torus\"\ntorus = [2, 2]");
  ASSERT_EQ(other.size(), 1U);
  EXPECT_THAT(other[0].message, HasSubstr("has 4 routers, one per node, but cluster.nodes is 2"));
  EXPECT_EQ(other[0].place.line, 10U);
  for (const char* bad : {"torus = [2]", "torus = [1, 1, 1, 2]", "torus = [0, 2]", "torus = \"2x1\""}) {
    const auto faults = faults_with("topology = \"torus\"\n" + std::string(bad));
    ASSERT_EQ(faults.size(), 1U) << bad;
    EXPECT_THAT(faults[0].hint, HasSubstr("two or three sizes"));
  }
}

TEST(TopologyKeys, OneNodeOfATorusIsItsBaseline) {
  const Scenario scenario = scenario_of(with_cluster("topology = \"torus\"\ntorus = [1, 2]"));
  EXPECT_THAT(with_nodes(scenario, 1)->cluster.torus, ElementsAre(1, 1));
  EXPECT_FALSE(with_nodes(scenario, 4));
}

class WrittenGraph : public ::testing::Test {
 protected:
  /// The plain scenario on a fabric file whose [graph] has cards of so many nodes.
  std::string scenario(const std::string& cards, const std::string& lines) {
    const ScenarioText folder("");
    path_ = (std::filesystem::temp_directory_path() /
             ("stepcast-written-graph-" + std::to_string(::getpid()) + ".toml"))
                .string();
    std::ofstream(path_)
        << "transport = \"infiniband\"\n[link]\nrate = \"400 Gb/s\"\nefficiency = 0.9\nlatency = \"2 "
           "us\"\n[graph]\nswitches = [\"s\"]\nnics = [[\""
        << cards << "\", \"s\"]]\n";
    std::string text = with_cluster(lines);
    return text.replace(text.find("infiniband-400g"), 15, path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(WrittenGraph, IsUsedWithoutAskingForATopology) {
  EXPECT_EQ(scenario_of(scenario("node*.nic*", "")).cluster.topology, "graph");
  EXPECT_EQ(scenario_of(scenario("node*.nic*", "topology = \"graph\"")).cluster.topology, "graph");
}

TEST_F(WrittenGraph, ExcludesABuiltTopology) {
  const auto faults = faults_of(ScenarioText(scenario("node*.nic*", "topology = \"torus\"\ntorus = [1, 2]")));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("writes its network out in [graph]"));
}

TEST_F(WrittenGraph, MustHaveAllNodes) {
  const auto faults = faults_of(ScenarioText(scenario("node0.nic[0-7]", "")));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].place.line, 6U);
  EXPECT_THAT(faults[0].message, HasSubstr("has cards of 1 node"));
}

TEST(TopologyKeys, GraphNeedsAFileThatHasOne) {
  const auto faults = faults_with("topology = \"graph\"");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("needs a fabric file with [graph]"));
}

}  // namespace
}  // namespace stepcast
