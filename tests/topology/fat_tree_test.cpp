#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/topology/cluster_fixture.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;

// Switches of 8 ports and nodes of two cards: four cards (two nodes) on a leaf, four leaves (eight nodes) in
// a pod. 24 nodes are three pods.
ClusterRequest three_pods(const std::string& routing, double oversubscription = 1, double core = 1) {
  ClusterRequest request = request_of(24, "hgx-h100", "infiniband-400g");
  request.fabric.leaf_ports = 8;
  request.fabric.nics_per_node = 2;
  request.topology = "fat-tree";
  request.routing = routing;
  request.oversubscription = oversubscription;
  request.core_oversubscription = core;
  return request;
}

std::map<DeviceKind, int> counts(const Cluster& cluster) {
  std::map<DeviceKind, int> found;
  for (const Device& device : cluster.devices()) ++found[device.kind];
  return found;
}

std::vector<std::string> nic_route(const Cluster& cluster, int node, int peer) {
  return names(cluster, cluster.route(cluster.nic_device(node, 0), cluster.nic_device(peer, 0)));
}

// A pod has 4 leaves and 4 spines; each spine has 4 uplinks to cores of its own: 16 cores, 12 spines.
TEST(FatTree, HasPodsOfHalfTheirSwitchesPortsAndCoresAbove) {
  const Cluster cluster(three_pods("ecmp"));
  EXPECT_EQ(counts(cluster)[DeviceKind::leaf_switch], 12);
  EXPECT_EQ(counts(cluster)[DeviceKind::spine_switch], 12 + 16);
  EXPECT_NEAR(gigabits_between(cluster, "leaf0", "pod0.spine3"), 400, 1e-9);
  EXPECT_NEAR(gigabits_between(cluster, "pod2.spine1", "core4"), 400, 1e-9);
  EXPECT_NEAR(gigabits_between(cluster, "pod2.spine1", "core3"), 0, 1e-9);
}

TEST(FatTree, GoesNoHigherThanItMust) {
  const Cluster cluster(three_pods("spray"));
  EXPECT_THAT(nic_route(cluster, 0, 1), ElementsAre("node0.nic0 -> leaf0", "leaf0 -> node1.nic0"));
  EXPECT_THAT(nic_route(cluster, 0, 2), ElementsAre("node0.nic0 -> leaf0", "leaf0 -> pod0.spines",
                                                    "pod0.spines -> leaf1", "leaf1 -> node2.nic0"));
  EXPECT_THAT(nic_route(cluster, 0, 8),
              ElementsAre("node0.nic0 -> leaf0", "leaf0 -> pod0.spines", "pod0.spines -> cores",
                          "cores -> pod1.spines", "pod1.spines -> leaf4", "leaf4 -> node8.nic0"));
}

TEST(FatTree, OfOnePodHasTwoLevels) {
  ClusterRequest request = three_pods("ecmp");
  request.nodes = 8;
  EXPECT_EQ(counts(Cluster(request))[DeviceKind::spine_switch], 4);
}

// A leaf of four cards: 1,600 Gb/s up, 800 at 2:1. Four leaves: a pod has 6,400 towards the cores, at 2:1 of
// the leaves 3,200, and with 4:1 at the spines as well 800.
TEST(FatTree, OversubscribesLeavesAndSpinesEachOnItsOwn) {
  const Cluster full(three_pods("spray")), leaf(three_pods("spray", 2)), both(three_pods("spray", 2, 4));
  EXPECT_NEAR(gigabits_between(full, "leaf0", "pod0.spines"), 1600, 1e-6);
  EXPECT_NEAR(gigabits_between(full, "pod0.spines", "cores"), 6400, 1e-6);
  EXPECT_NEAR(gigabits_between(leaf, "leaf0", "pod0.spines"), 800, 1e-6);
  EXPECT_NEAR(gigabits_between(leaf, "pod0.spines", "cores"), 3200, 1e-6);
  EXPECT_NEAR(gigabits_between(both, "leaf0", "pod0.spines"), 800, 1e-6);
  EXPECT_NEAR(gigabits_between(both, "pod0.spines", "cores"), 800, 1e-6);
}

// The same by single cables: whatever the routing, a pod's uplinks add up to the same.
TEST(FatTree, BundlesAreTheSumOfTheirCables) {
  const Cluster sprayed(three_pods("spray", 1.5, 3)), hashed(three_pods("ecmp", 1.5, 3));
  double sum = 0;
  for (const Link& link : hashed.links()) {
    const std::string& from = hashed.devices()[static_cast<std::size_t>(link.from)].name;
    const std::string& to = hashed.devices()[static_cast<std::size_t>(link.to)].name;
    if (from.starts_with("pod1.") && to.starts_with("core")) sum += link.capacity.value * 8e-9;
  }
  EXPECT_NEAR(gigabits_between(sprayed, "pod1.spines", "cores"), sum, 1e-6);
  EXPECT_NEAR(sum, 6400 / 1.5 / 3, 1e-6);
}

// 16 cards of pod 0 to the same cards of pod 1, numbers 16 to 31: D-mod-K takes spine n % 4 and its core n /
// 4 % 4, so each of the 16 cores carries one flow.
TEST(FatTree, StaticRoutingOfAShiftUsesEveryCoreOnce) {
  const Cluster cluster(three_pods("static"));
  std::set<std::string> cores;
  for (int node = 0; node < 8; ++node)
    for (int nic = 0; nic < 2; ++nic)
      for (const auto& [link, share] : flow_of(cluster, node, nic, 8 + node, nic))
        if (link.find("-> core") != std::string::npos) cores.insert(link);
  EXPECT_EQ(cores.size(), 16U);
}

// Dead: one of a pod's four spines takes a quarter of all that the pod has up and down.
TEST(FatTree, ADeadSpineOfAPodTakesItsPartOnBothSides) {
  ClusterRequest request = three_pods("spray");
  request.faults = {{"pod1.spine2", 0}};
  const Cluster cluster(request);
  EXPECT_NEAR(gigabits_between(cluster, "leaf5", "pod1.spines"), 1200, 1e-6);
  EXPECT_NEAR(gigabits_between(cluster, "pod1.spines", "cores"), 4800, 1e-6);
  EXPECT_NEAR(gigabits_between(cluster, "pod0.spines", "cores"), 6400, 1e-6);
}

// Racks of 72 GPUs, each one NVLink domain with 72 cards on three leaves of 32: a pod holds ten racks (30
// leaves).
TEST(FatTree, JoinsNvlinkDomainsOfSeventyTwo) {
  ClusterRequest request = request_of(12, "gb200-nvl72", "infiniband-400g");
  request.topology = "fat-tree";
  const Cluster cluster(request);
  EXPECT_EQ(counts(cluster)[DeviceKind::leaf_switch], 36);
  const int far = 11 * 72 + 5;
  EXPECT_THAT(names(cluster, cluster.route(cluster.nic_device(0, 0), cluster.nic_device(11, 71))),
              ElementsAre("node0.nic0 -> leaf0", "leaf0 -> pod0.spines", "pod0.spines -> cores",
                          "cores -> pod1.spines", "pod1.spines -> leaf35", "leaf35 -> node11.nic71"));
  EXPECT_TRUE(is_path(cluster, cluster.route(cluster.gpu_device(0), cluster.gpu_device(far)),
                      cluster.gpu_device(0), cluster.gpu_device(far)));
  for (const int link : cluster.route(cluster.gpu_device(0), cluster.gpu_device(71)))
    EXPECT_EQ(cluster.links()[static_cast<std::size_t>(link)].kind, LinkKind::nvlink);
}

// On rails, card i of 32 racks shares leaf i: no spine between racks for the same card.
TEST(RailOptimized, JoinsNvlinkDomainsByTheirRails) {
  ClusterRequest request = request_of(4, "gb200-nvl72", "infiniband-400g");
  request.topology = "rail-optimized";
  const Cluster cluster(request);
  EXPECT_EQ(counts(cluster)[DeviceKind::leaf_switch], 72);
  EXPECT_THAT(names(cluster, cluster.route(cluster.nic_device(0, 40), cluster.nic_device(3, 40))),
              ElementsAre("node0.nic40 -> leaf40", "leaf40 -> node3.nic40"));
}

// 128 nodes are four groups of 32 on eight rails: 32 leaves, one pod. Node 128 opens a second pod.
TEST(RailOptimized, HasAThirdLevelBeyondOnePod) {
  ClusterRequest request = request_of(128, "hgx-h100", "infiniband-400g");
  request.topology = "rail-optimized";
  EXPECT_THAT(nic_route(Cluster(request), 0, 127), ElementsAre("node0.nic0 -> leaf0", "leaf0 -> spines",
                                                               "spines -> leaf24", "leaf24 -> node127.nic0"));
  request.nodes = 129;
  EXPECT_THAT(nic_route(Cluster(request), 0, 128),
              ElementsAre("node0.nic0 -> leaf0", "leaf0 -> pod0.spines", "pod0.spines -> cores",
                          "cores -> pod1.spines", "pod1.spines -> leaf32", "leaf32 -> node128.nic0"));
}

}  // namespace
}  // namespace stepcast
