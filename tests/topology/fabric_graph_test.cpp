#include "topology/fabric_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/topology/cluster_fixture.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;

ClusterRequest fabric_request(int nodes, const std::string& topology, double oversubscription = 1,
                              const std::string& routing = "spray") {
  ClusterRequest request = request_of(nodes, "hgx-h100", "infiniband-400g");
  request.topology = topology;
  request.oversubscription = oversubscription;
  request.routing = routing;
  return request;
}

std::vector<std::string> nic_route(const Cluster& cluster, int node, int nic, int peer_node, int peer_nic) {
  return names(cluster,
               cluster.route(cluster.nic_device(node, nic), cluster.nic_device(peer_node, peer_nic)));
}

int count_of(const Cluster& cluster, DeviceKind kind) {
  int count = 0;
  for (const Device& device : cluster.devices()) count += device.kind == kind ? 1 : 0;
  return count;
}

// A leaf of 64 ports takes 32 cards, four nodes of eight: nodes 0-3 on leaf 0, nodes 4-7 on leaf 1.
TEST(LeafSpine, FourNodesOfEightCardsShareALeaf) {
  const Cluster cluster(fabric_request(8, "leaf-spine"));
  EXPECT_EQ(count_of(cluster, DeviceKind::leaf_switch), 2);
  EXPECT_THAT(nic_route(cluster, 0, 0, 3, 7), ElementsAre("node0.nic0 -> leaf0", "leaf0 -> node3.nic7"));
  EXPECT_THAT(nic_route(cluster, 0, 0, 4, 0), ElementsAre("node0.nic0 -> leaf0", "leaf0 -> spines",
                                                          "spines -> leaf1", "leaf1 -> node4.nic0"));
}

TEST(LeafSpine, WithinOneLeafThereAreNoSpines) {
  EXPECT_EQ(count_of(Cluster(fabric_request(4, "fat-tree")), DeviceKind::spine_switch), 0);
}

// NVL72: 72 cards of one rack need ceil(72 / 32) = 3 leaves.
TEST(LeafSpine, ANodeWithMoreCardsThanALeafTakesSeveralLeaves) {
  ClusterRequest request = request_of(2, "gb200-nvl72", "infiniband-400g");
  request.topology = "leaf-spine";
  const Cluster cluster(request);
  EXPECT_EQ(cluster.nics_per_node(), 72);
  EXPECT_EQ(count_of(cluster, DeviceKind::leaf_switch), 6);
  EXPECT_THAT(nic_route(cluster, 0, 71, 1, 32), ElementsAre("node0.nic71 -> leaf2", "leaf2 -> spines",
                                                            "spines -> leaf4", "leaf4 -> node1.nic32"));
}

// 32 cards of 50 GB/s on a full leaf: 1600 GB/s up at 1:1, 400 GB/s at 4:1. Nothing else changes.
TEST(Oversubscription, ChangesOnlyTheUplinks) {
  const Cluster full(fabric_request(8, "leaf-spine"));
  const Cluster thin(fabric_request(8, "leaf-spine", 4));
  ASSERT_EQ(full.links().size(), thin.links().size());
  int uplinks = 0;
  for (std::size_t i = 0; i < full.links().size(); ++i) {
    EXPECT_EQ(full.links()[i].from, thin.links()[i].from);
    EXPECT_EQ(full.links()[i].to, thin.links()[i].to);
    if (full.links()[i].kind == LinkKind::fabric) {
      ++uplinks;
      EXPECT_DOUBLE_EQ(full.links()[i].capacity.value, 1600e9);
      EXPECT_DOUBLE_EQ(thin.links()[i].capacity.value, 400e9);
    } else {
      EXPECT_DOUBLE_EQ(full.links()[i].capacity.value, thin.links()[i].capacity.value);
    }
  }
  EXPECT_EQ(uplinks, 4);  // two leaves, both directions
}

// Two switches more than inside a leaf: 1.5 us + 2 x 0.13 us.
TEST(LeafSpine, EachFurtherSwitchAddsItsLatency) {
  const Cluster cluster(fabric_request(8, "leaf-spine"));
  double sum = 0;
  for (const int link : cluster.route(cluster.nic_device(0, 0), cluster.nic_device(7, 0))) {
    sum += cluster.links()[static_cast<std::size_t>(link)].latency.value;
  }
  EXPECT_NEAR(sum, 1.76e-6, 1e-12);
}

TEST(RailOptimized, CardsOfOneNumberMeetOnTheirLeaf) {
  const Cluster cluster(fabric_request(4, "rail-optimized"));
  EXPECT_EQ(count_of(cluster, DeviceKind::leaf_switch), 8);
  EXPECT_THAT(nic_route(cluster, 0, 5, 3, 5), ElementsAre("node0.nic5 -> leaf5", "leaf5 -> node3.nic5"));
  EXPECT_THAT(nic_route(cluster, 0, 5, 3, 6), ElementsAre("node0.nic5 -> leaf5", "leaf5 -> spines",
                                                          "spines -> leaf6", "leaf6 -> node3.nic6"));
}

// Node 32 is the first that a rail's 32 ports do not take: it opens the second group of eight leaves.
TEST(RailOptimized, ARailOfMoreNodesThanALeafHasSeveralLeaves) {
  const Cluster cluster(fabric_request(33, "rail-optimized"));
  EXPECT_EQ(count_of(cluster, DeviceKind::leaf_switch), 16);
  EXPECT_THAT(nic_route(cluster, 0, 1, 32, 1), ElementsAre("node0.nic1 -> leaf1", "leaf1 -> spines",
                                                           "spines -> leaf9", "leaf9 -> node32.nic1"));
}

TEST(RailOptimized, AGpuReachesAnotherRailByNvlinkNotByTheSpines) {
  const Cluster cluster(fabric_request(2, "rail-optimized"));
  for (const int link : cluster.route(cluster.gpu_device(0), cluster.gpu_device(13))) {
    EXPECT_NE(cluster.links()[static_cast<std::size_t>(link)].kind, LinkKind::fabric);
  }
}

TEST(RailOnly, HasNoSpinesAndSendsOnTheReceiversRail) {
  const Cluster cluster(fabric_request(40, "rail-only"));
  EXPECT_EQ(count_of(cluster, DeviceKind::leaf_switch), 8);
  EXPECT_EQ(count_of(cluster, DeviceKind::spine_switch), 0);
  const std::vector<int> links = cluster.network_route(0, 0, 13, 5);
  EXPECT_EQ(links, cluster.network_route(0, 5, 13, 5));
  EXPECT_TRUE(is_path(cluster, links, cluster.gpu_device(0), cluster.gpu_device(13)));
}

// D = 32 cards, o = 2: 16 spines, each with 32 x 50 / (2 x 16) = 50 GB/s to every leaf.
TEST(Ecmp, HasSpinesOfItsOwnWithTheRateOfACard) {
  const Cluster cluster(fabric_request(8, "leaf-spine", 2, "ecmp"));
  EXPECT_EQ(count_of(cluster, DeviceKind::spine_switch), 16);
  for (const Link& link : cluster.links()) {
    if (link.kind != LinkKind::fabric) continue;
    EXPECT_DOUBLE_EQ(link.capacity.value, 50e9);
  }
}

// 32 pairs hashed uniformly onto 32 spines hit 32 (1 - (1 - 1/32)^32) = 20.4 different ones on average (sd
// about 1.7).
TEST(Ecmp, HashesPairsOntoSpinesAndAlwaysTheSameWay) {
  const Cluster cluster(fabric_request(8, "leaf-spine", 1, "ecmp"));
  std::set<int> used;
  for (int nic = 0; nic < 32; ++nic) {
    const int from = cluster.nic_device(nic / 8, nic % 8);
    const int to = cluster.nic_device(4 + nic / 8, nic % 8);
    const std::vector<int> links = cluster.route(from, to);
    ASSERT_EQ(links.size(), 4U);
    EXPECT_EQ(links, cluster.route(from, to));
    used.insert(links[1]);
  }
  EXPECT_GE(used.size(), 13U);
  EXPECT_LE(used.size(), 28U);
}

// D-mod-K: card n of the receiver side takes spine n modulo 32, so a shift by four nodes uses each spine
// once.
TEST(StaticRouting, AShiftUsesEverySpineOnce) {
  const Cluster cluster(fabric_request(8, "leaf-spine", 1, "static"));
  std::set<int> used;
  for (int nic = 0; nic < 32; ++nic) {
    used.insert(
        cluster.route(cluster.nic_device(nic / 8, nic % 8), cluster.nic_device(4 + nic / 8, nic % 8))[1]);
  }
  EXPECT_EQ(used.size(), 32U);
}

// The cards of a rail's leaf are every eighth by node, yet those of one leaf are spread over all 32 spines:
// each of the second group's 32 nodes, asked by a card of another rail, comes down its own.
TEST(StaticRouting, SpreadsTheCardsOfARailOverAllSpines) {
  const Cluster cluster(fabric_request(64, "rail-optimized", 1, "static"));
  std::set<int> used;
  for (int node = 32; node < 64; ++node) {
    const std::vector<int> way = cluster.route(cluster.nic_device(0, 3), cluster.nic_device(node, 5));
    ASSERT_EQ(way.size(), 4U);
    used.insert(way[2]);
  }
  EXPECT_EQ(used.size(), 32U);
}

}  // namespace
}  // namespace stepcast
