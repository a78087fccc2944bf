#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/topology/cluster_fixture.hpp"
#include "topology/fault.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;

Cluster with_faults(ClusterRequest request, std::vector<LinkFault> faults) {
  request.faults = std::move(faults);
  return Cluster(request);
}

std::string complaint_about(const ClusterRequest& request) {
  try {
    const Cluster cluster(request);
  } catch (const std::invalid_argument& fault) {
    return fault.what();
  }
  return "";
}

double rate_of(const Cluster& cluster, const std::string& from, const std::string& to) {
  for (const Link& link : cluster.links())
    if (link.from == cluster.device_named(from) && link.to == cluster.device_named(to))
      return link.capacity.value / 1e9;
  return -1;
}

TEST(FaultNames, AreDevicesOrLinksWithAnyKindOfDash) {
  EXPECT_EQ(ends_of(" node3.nic2 ").first, "node3.nic2");
  EXPECT_EQ(ends_of("node3.nic2").second, "");
  for (const char* text : {"leaf0 - spine1", "leaf0 -> spine1", "leaf0  <-> spine1"}) {
    EXPECT_EQ(ends_of(text).first, "leaf0");
    EXPECT_EQ(ends_of(text).second, "spine1");
  }
  ASSERT_TRUE(node_part_of("node12.gpu3"));
  EXPECT_EQ(node_part_of("node12.gpu3")->node, 12);
  EXPECT_EQ(node_part_of("node12.gpu3")->part, "gpu3");
  EXPECT_FALSE(node_part_of("spine1"));
  EXPECT_FALSE(node_part_of("nodes.gpu3"));
}

// 400 Gb/s are 50 GB/s; a quarter is left on one card's cable, nothing changes elsewhere.
TEST(Damage, OfANicIsThatOfItsCable) {
  const Cluster cluster = with_faults(request_of(2, "hgx-h100", "infiniband-400g"), {{"node1.nic2", 0.25}});
  EXPECT_DOUBLE_EQ(rate_of(cluster, "node1.nic2", "leaf0"), 12.5);
  EXPECT_DOUBLE_EQ(rate_of(cluster, "leaf0", "node1.nic2"), 12.5);
  EXPECT_DOUBLE_EQ(rate_of(cluster, "node0.nic2", "leaf0"), 50);
  EXPECT_EQ(cluster.node_class(0), 0);
  EXPECT_EQ(cluster.node_class(1), 1);
}

// GPU 2's own card is dead: its nearest living one is another GPU's.
TEST(Damage, ADeadNicFeedsNobody) {
  const Cluster cluster = with_faults(request_of(2, "hgx-h100", "infiniband-400g"), {{"node1.nic2", 0}});
  EXPECT_EQ(cluster.gpu_near_nic(2, 1), -1);
  EXPECT_EQ(cluster.gpu_near_nic(2, 0), 2);
  EXPECT_EQ(cluster.nics_near(2, 1).size(), 7U);
  EXPECT_EQ(cluster.nics_near(2, 0).front(), 2);
}

// 18 links of 25 GB/s are 450 GB/s; a third of them is 150 GB/s and 6 connections to every other GPU.
TEST(Damage, OfAnNvlinkLeavesWholeLinks) {
  const Cluster cluster =
      with_faults(request_of(1, "hgx-h100", "infiniband-400g"), {{"node0.gpu1 - node0.nvswitch0", 1.0 / 3}});
  EXPECT_NEAR(rate_of(cluster, "node0.gpu1", "node0.nvswitch0"), 150, 1e-9);
  EXPECT_EQ(cluster.nvlink_connections(1, 4), 6);
  EXPECT_EQ(cluster.nvlink_connections(0, 4), 18);
}

// GPUs 0 and 3 of a DGX-1 share two links; one is cut, then both: the way goes over another GPU.
TEST(Damage, RoutesGoAroundADeadNvlink) {
  const ClusterRequest request = request_of(1, "dgx-1-v100-16g", "infiniband-100g");
  EXPECT_EQ(with_faults(request, {{"node0.gpu0 - node0.gpu3", 0.5}}).nvlink_connections(0, 3), 1);
  const Cluster cut = with_faults(request, {{"node0.gpu3 - node0.gpu0", 0}});
  EXPECT_EQ(cut.nvlink_connections(0, 3), 0);
  const auto way = cut.route(cut.gpu_device(0), cut.gpu_device(3));
  EXPECT_EQ(way.size(), 2U);
  EXPECT_TRUE(is_path(cut, way, cut.gpu_device(0), cut.gpu_device(3)));
  for (const int link : way) EXPECT_EQ(cut.links()[static_cast<std::size_t>(link)].kind, LinkKind::nvlink);
}

TEST(Damage, OfAGpuIsItsSpeed) {
  const Cluster cluster = with_faults(request_of(2, "hgx-h100", "infiniband-400g"), {{"node1.gpu3", 0.8}});
  EXPECT_EQ(cluster.gpu_speed(11), 0.8);
  EXPECT_EQ(cluster.gpu_speed(3), 1);
}

TEST(Damage, BeyondTheNodesOfTheClusterIsLeftOut) {
  EXPECT_EQ(with_faults(request_of(1, "hgx-h100", "infiniband-400g"), {{"node3.nic0", 0}}).node_classes(), 1);
}

TEST(Damage, ThatNamesNothingOrKillsTheJobIsRefused) {
  ClusterRequest request = request_of(2, "hgx-h100", "infiniband-400g");
  const auto about = [&](const std::string& at) {
    request.faults = {{at, 0}};
    return complaint_about(request);
  };
  EXPECT_THAT(about("node0.nic9"), testing::HasSubstr("did you mean \"nic"));
  EXPECT_THAT(about("node0.gpu0 - node0.nic5"), testing::HasSubstr("no link joins gpu0 and nic5"));
  EXPECT_THAT(about("node0.gpu0 - node1.gpu0"), testing::HasSubstr("no link joins"));
  EXPECT_THAT(about("node0.gpu4"), testing::HasSubstr("dead GPU"));
  request = request_of(2, "hgx-h100", "ethernet-100g");
  EXPECT_THAT(about("node1.nic0"), testing::HasSubstr("no network card left"));
}

// Every wire of GPU 5 is cut, PCIe as well as NVLink; any one that is left is a way.
TEST(Damage, ThatCutsAGpuOffIsRefused) {
  ClusterRequest request = request_of(1, "hgx-h100", "infiniband-400g");
  std::vector<std::string> wires;
  const Cluster whole(request);
  const int gpu = whole.device_named("node0.gpu5");
  for (const Link& link : whole.links())
    if (link.from == gpu)
      wires.push_back("node0.gpu5 - " + whole.devices()[static_cast<std::size_t>(link.to)].name);
  for (const std::string& wire : wires) request.faults.push_back({wire, 0});
  EXPECT_EQ(complaint_about(request), "node0: no way is left between gpu0 and gpu5");
  request.faults.pop_back();
  EXPECT_EQ(complaint_about(request), "");
}

// Four nodes of eight cards hang on each leaf: node1's are leaf0's, not leaf3's.
TEST(Damage, OfACableNamesTheSwitchThatItHangsOn) {
  ClusterRequest request = request_of(32, "hgx-h100", "infiniband-400g");
  request.topology = "leaf-spine";
  request.faults = {{"node1.nic0 - leaf0", 0.5}};
  EXPECT_EQ(complaint_about(request), "");
  request.faults = {{"node1.nic0 - leaf3", 0.5}};
  EXPECT_EQ(complaint_about(request), "no link joins node1.nic0 and leaf3");
}

TEST(NodeGroups, BringTheirOwnServerCardsAndRate) {
  ClusterRequest request = request_of(3, "hgx-h100", "infiniband-400g");
  request.node_groups = {{1, 1, request.node, gigabits_per_second(200), 4},
                         {2, 1, load_node("dgx-a100-80g", {}), std::nullopt, std::nullopt}};
  const Cluster cluster(request);
  EXPECT_EQ(cluster.node_classes(), 3);
  EXPECT_EQ(cluster.nics_of_node(0), 8);
  EXPECT_EQ(cluster.nics_of_node(1), 4);
  EXPECT_DOUBLE_EQ(rate_of(cluster, "node1.nic3", "leaf0"), 25);
  EXPECT_EQ(cluster.node_spec(2).gpu, "a100-sxm-80g");
  const auto way = cluster.route(cluster.gpu_device(1), cluster.gpu_device(17));
  EXPECT_TRUE(is_path(cluster, way, cluster.gpu_device(1), cluster.gpu_device(17)));
}

TEST(NodeGroups, WithFewerGpusThanTheJobUsesAreRefused) {
  ClusterRequest request = request_of(2, "dgx-2", "infiniband-100g");
  request.node_groups = {{1, 1, load_node("hgx-h100", {}), std::nullopt, std::nullopt}};
  EXPECT_THAT(complaint_about(request), testing::HasSubstr("node1 (hgx-h100) has 8 GPUs, not 16"));
}

TEST(Background, TakesItsShareOfWhatIsLeftAndNamesItsWay) {
  ClusterRequest request = request_of(8, "hgx-h100", "infiniband-400g");
  request.topology = "leaf-spine";
  request.background = {{"fabric", 0.5, "", "", std::nullopt},
                        {"leaf0 - spines", 0.5, "", "", std::nullopt},
                        {"", 0, "node0.nic1", "node7.nic1", gigabits_per_second(100)}};
  const Cluster cluster(request);
  for (const int link : cluster.links_at("leaf0 - spines"))
    EXPECT_DOUBLE_EQ(cluster.background_share(link), 0.75);
  for (const int link : cluster.links_at("leaf1 - spines"))
    EXPECT_DOUBLE_EQ(cluster.background_share(link), 0.5);
  for (const int link : cluster.links_at("node0.nic1")) EXPECT_EQ(cluster.background_share(link), 0);
  ASSERT_EQ(cluster.background_flows().size(), 1U);
  std::vector<int> way;
  for (const FlowShare& part : cluster.background_flows().front().links) way.push_back(part.link);
  EXPECT_THAT(names(cluster, way), ElementsAre("node0.nic1 -> leaf0", "leaf0 -> spines", "spines -> leaf1",
                                               "leaf1 -> node7.nic1"));
}

TEST(Background, AtNothingIsRefused) {
  ClusterRequest request = request_of(2, "hgx-h100", "infiniband-400g");
  request.background = {{"fabric", 0.5, "", "", std::nullopt}};
  EXPECT_THAT(complaint_about(request), testing::HasSubstr("no fabric links"));
  request.background = {{"", 0, "node0.nic1", "leaf7", std::nullopt}};
  EXPECT_THAT(complaint_about(request), testing::HasSubstr("has no \"leaf7\""));
}

}  // namespace
}  // namespace stepcast
