// Clusters that are not alike everywhere: damage, two generations, other jobs' traffic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/report/question.hpp"

namespace stepcast {
namespace {

ScenarioFile mixed(const std::string& tables, const std::string& strategy = "fsdp", int nodes = 4,
                   const std::string& topology = "leaf-spine") {
  const std::string path = testing::TempDir() + "/mixture-" + std::to_string(::getpid()) + ".toml";
  std::ofstream(path) << R"([model]
preset = "gpt2-xl"
sequence_length = 1024
[cluster]
node = "hgx-h100"
fabric = "infiniband-200g"
nodes = )" << nodes << "\ntopology = \""
                      << topology << "\"\n[training]\nmicro_batch_size = 2\nstrategy = \"" << strategy
                      << "\"\n"
                      << tables;
  ScenarioFile file = load_scenario(path, {});
  std::remove(path.c_str());
  return file;
}

PointReport point_of(const ScenarioFile& file, bool unfolded = false) {
  RunOptions options;
  options.unfolded = unfolded;
  options.companions = false;
  return run(file, options).points.front();
}

double step_of(const std::string& tables, const std::string& strategy = "fsdp") {
  return point_of(mixed(tables, strategy)).step_time.value;
}

const char* const dead_nic = "[[cluster.fault]]\nat = \"node3.nic2\"\n";
const char* const slow_gpu = "[[cluster.fault]]\nat = \"node3.gpu2\"\nremaining = 0.8\n";
const char* const slow_node = "[[cluster.node_group]]\nnodes = 1\nlink_rate = \"50 Gb/s\"\n";
const char* const old_node = "[[cluster.node_group]]\nnodes = 1\nnode = \"dgx-a100-80g\"\n";
const char* const busy_nics = "[[background]]\nat = \"nic\"\nshare = 0.5\n";
const char* const other_job =
    "[[background]]\nfrom = \"node0.nic0\"\nto = \"node1.nic0\"\nrate = \"100 Gb/s\"\n";

class Mixture : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Mixture, FoldedAndUnfoldedAreEqual) {
  const auto [tables, strategy] = GetParam();
  const ScenarioFile file = mixed(tables, strategy);
  const double folded = point_of(file).step_time.value, unfolded = point_of(file, true).step_time.value;
  EXPECT_NEAR(folded / unfolded, 1, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(All, Mixture,
                         testing::Combine(testing::Values("", dead_nic, slow_gpu, slow_node, old_node,
                                                          busy_nics, other_job),
                                          testing::Values("ddp", "zero1", "zero3", "fsdp", "hsdp")));

// Ranks wait for the slowest: its kernels take 1 / 0.8 of their time, less what they no longer lose beside
// collectives.
TEST(SlowGpu, SetsThePaceOfTheJob) {
  const PointReport well = point_of(mixed("")), ill = point_of(mixed(slow_gpu));
  EXPECT_LE(ill.breakdown.compute / well.breakdown.compute, 1.25 + 1e-6);
  EXPECT_GT(ill.breakdown.compute / well.breakdown.compute, 1.2);
  EXPECT_GT(ill.step_time, well.step_time);
}

TEST(OldNode, SetsThePaceAndTheMemoryAndCountsInTheUtilization) {
  const PointReport new_ones = point_of(mixed("")), with_old = point_of(mixed(old_node));
  EXPECT_GT(with_old.step_time.value, 1.5 * new_ones.step_time.value);
  // 24 x 989.4 + 8 x 312 TFLOP/s are offered instead of 32 x 989.4.
  const double flops = *new_ones.mfu * 32 * 989.4e12 * new_ones.step_time.value;
  EXPECT_NEAR(*with_old.mfu * (24 * 989.4e12 + 8 * 312e12) * with_old.step_time.value / flops, 1, 0.01);
}

// Seven cards of eight carry what eight did: the ring pays 8/7 on each.
TEST(DeadNic, IsRunAroundOnSevenCardsEverywhere) {
  const PointReport well = point_of(mixed("", "ddp")), ill = point_of(mixed(dead_nic, "ddp"));
  ASSERT_EQ(well.communication.size(), 1U);
  ASSERT_EQ(well.communication.front().algorithm, ill.communication.front().algorithm);
  EXPECT_EQ(well.nics_used, 8);
  EXPECT_EQ(ill.nics_used, 7);
  EXPECT_GT(ill.communication.front().time, well.communication.front().time);
  EXPECT_LT(ill.communication.front().time / well.communication.front().time, 8.0 / 7 + 0.01);
}

TEST(SlowNode, HoldsTheWholeRing) { EXPECT_GT(step_of(slow_node, "zero3"), 1.05 * step_of("", "zero3")); }

// Half of each card's rate is as good as cards of half the rate.
TEST(BackgroundShare, IsALinkOfThatMuchLess) {
  const auto half = mixed("[[cluster.node_group]]\nnodes = 4\nlink_rate = \"100 Gb/s\"\n", "ddp");
  EXPECT_NEAR(step_of(busy_nics, "ddp") / point_of(half).step_time.value, 1, 1e-9);
}

TEST(BackgroundFlow, SlowsOnlyWhoMeetsIt) {
  const double alone = step_of("", "ddp"), beside = step_of(other_job, "ddp");
  EXPECT_GT(beside, alone);
  // On one node, nothing crosses the network.
  EXPECT_EQ(point_of(mixed("", "ddp", 1)).step_time,
            point_of(mixed("[[background]]\nat = \"nic\"\nshare = 0.9\n", "ddp", 1)).step_time);
}

// The flow takes at most 100 of 200 Gb/s. As fair shares go by what each has alone, the job keeps two thirds.
TEST(BackgroundFlow, LeavesTheJobItsFairShare) {
  const auto time = [](const std::string& tables) {
    const PointReport point = point_of(mixed(tables, "zero3"));
    for (const CommunicationRow& row : point.communication)
      if (row.operation == "all_gather") return row.time.value;
    return 0.0;
  };
  const double ratio = time(other_job) / time("");
  EXPECT_GT(ratio, 1.2);
  EXPECT_LT(ratio, 1.51);
}

// A baseline of one node knows nothing of node 3 and of the spines.
TEST(Damage, IsLeftOutOfSmallerBaselinesThatLackIt) {
  const Report report = run(mixed("[[cluster.fault]]\nat = \"node3.nic2\"\n[[cluster.fault]]\nat = "
                                  "\"node3.gpu1\"\nremaining = 0.5\n"),
                            {});
  ASSERT_TRUE(report.points.front().scaling_efficiency);
  EXPECT_LT(*report.points.front().scaling_efficiency, 0.7);
  EXPECT_EQ(report.points.front().baseline_gpus, 8);
}

// The replicas of local rank 2 have no common rail: they hand over to the one that node 3 has.
TEST(DeadNic, OnRailsThatDoNotMeetIsCrossedOnAnother) {
  const PointReport well = point_of(mixed("", "hsdp", 4, "rail-only"));
  const PointReport ill = point_of(mixed(dead_nic, "hsdp", 4, "rail-only"));
  EXPECT_GE(ill.step_time, well.step_time);
  // Two of the eight replica groups share a card for their all-reduces.
  EXPECT_LT(ill.step_time, 1.25 * well.step_time);
}

TEST(DeadNic, NodesWithoutACommonRailAreTheUsersFault) {
  std::string tables;
  for (int nic = 0; nic < 8; ++nic)
    tables +=
        "[[cluster.fault]]\nat = \"node" + std::to_string(nic / 4) + ".nic" + std::to_string(nic) + "\"\n";
  try {
    (void)point_of(mixed(tables, "ddp", 2, "rail-only"));
    FAIL() << "two nodes without a common rail";
  } catch (const ScenarioError& error) {
    EXPECT_THAT(error.what(), testing::ContainsRegex("does not lead from node[01] to node[01]"));
  }
}

std::string faults_of(const std::string& tables) {
  try {
    (void)expand(mixed(tables));
  } catch (const ScenarioError& error) {
    std::string all;
    for (const Diagnostic& fault : error.diagnostics()) all += render(fault);
    return all;
  }
  return "";
}

TEST(MixtureTables, AreCheckedAgainstTheCluster) {
  EXPECT_THAT(faults_of("[[cluster.fault]]\nat = \"node3.nic9\"\n"), testing::HasSubstr("did you mean"));
  EXPECT_THAT(faults_of("[[cluster.fault]]\nremaining = 0.5\n"),
              testing::HasSubstr("cluster.fault.at is missing"));
  EXPECT_THAT(faults_of("[[cluster.fault]]\nat = \"node0.nic1\"\nremaining = 1.5\n"),
              testing::HasSubstr("cluster.fault.remaining"));
  EXPECT_THAT(faults_of("[[cluster.node_group]]\nnodes = 5\nlink_rate = \"1 Gb/s\"\n"),
              testing::HasSubstr("the node groups have 5 nodes but cluster.nodes is 4"));
  EXPECT_THAT(faults_of("[[cluster.node_group]]\nnodes = 1\n"), testing::HasSubstr("differs in nothing"));
  EXPECT_THAT(faults_of("[[cluster.node_group]]\nnode = \"hgx-h10\"\n"), testing::HasSubstr("hgx-h100"));
  EXPECT_THAT(faults_of("[[background]]\nat = \"nic\"\n"), testing::HasSubstr("a share of links or a flow"));
  EXPECT_THAT(faults_of("[[background]]\nat = \"leaf9\"\nshare = 0.1\n"),
              testing::HasSubstr("has no \"leaf9\""));
  EXPECT_THAT(faults_of("[[background]]\nfrom = \"leaf0\"\nto = \"leaf0\"\n"),
              testing::HasSubstr("nothing leads from leaf0 to leaf0"));
  EXPECT_THAT(faults_of("[[cluster.fault]]\nat = \"node7.nic0\"\n"), testing::IsEmpty());
}

}  // namespace
}  // namespace stepcast
