#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/topology/cluster_fixture.hpp"

namespace stepcast {
namespace {

// Switches of 8 ports, nodes of four cards: a node per leaf with four uplinks; two leaves in a group, eight
// nodes in four groups; two links of 400 Gb/s between each two groups.
ClusterRequest four_groups(const std::string& routing, int links = 2) {
  ClusterRequest request = request_of(8, "hgx-h100", "infiniband-400g");
  request.fabric.leaf_ports = 8;
  request.fabric.nics_per_node = 4;
  request.fabric.flows_per_connection = request.fabric.channels_per_nic = 1;
  request.topology = "dragonfly+";
  request.routing = routing;
  request.dragonfly_group = 2;
  request.dragonfly_links = links;
  return request;
}

TEST(Dragonfly, JoinsEveryTwoGroupsByTheAskedLinks) {
  const Cluster cluster(four_groups("spray"));
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b)
      EXPECT_NEAR(gigabits_between(cluster, "group" + std::to_string(a) + ".spines",
                                   "group" + std::to_string(b) + ".spines"),
                  a == b ? 0 : 800, 1e-9);
}

// Two full leaves of four cards: eight uplinks over three other groups are two links to each.
TEST(Dragonfly, HasByDefaultAsManyGlobalLinksAsUplinks) {
  const Cluster cluster(four_groups("spray", 0));
  EXPECT_NEAR(gigabits_between(cluster, "group0.spines", "group3.spines"), 800, 1e-9);
}

// Group 0 can send 8 x 400 = 3,200 Gb/s. Straight to group 2 go 800, by each of the two others min(800, 800):
// 2,400 in all. The straight links take 800 / 2,400, each detour as much.
TEST(Dragonfly, SpraysOverDetoursWhatTheGroupsLinksCannotTake) {
  const auto flow = flow_of(Cluster(four_groups("spray")), 0, 0, 5, 1);
  EXPECT_NEAR(flow.at("group0.spines -> group2.spines"), 1.0 / 3, 1e-12);
  EXPECT_NEAR(flow.at("group0.spines -> group1.spines"), 1.0 / 3, 1e-12);
  EXPECT_NEAR(flow.at("group1.spines -> group2.spines"), 1.0 / 3, 1e-12);
  EXPECT_NEAR(flow.at("group3.spines -> group2.spines"), 1.0 / 3, 1e-12);
  EXPECT_NEAR(flow.at("leaf0 -> group0.spines"), 1, 1e-12);
  EXPECT_NEAR(flow.at("group2.spines -> leaf5"), 1, 1e-12);
}

// With eight links of 400 Gb/s to each group all 3,200 fit on the straight ones; with five, 2,000 of 3,200
// do, and the rest goes by two detours evenly.
TEST(Dragonfly, TakesNoDetourThatItDoesNotNeed) {
  const auto straight = flow_of(Cluster(four_groups("spray", 8)), 0, 0, 5, 1);
  EXPECT_NEAR(straight.at("group0.spines -> group2.spines"), 1, 1e-12);
  EXPECT_FALSE(straight.contains("group0.spines -> group1.spines"));
  const auto some = flow_of(Cluster(four_groups("spray", 5)), 0, 0, 5, 1);
  EXPECT_NEAR(some.at("group0.spines -> group2.spines"), 2000.0 / 3200, 1e-12);
  EXPECT_NEAR(some.at("group0.spines -> group3.spines"), 600.0 / 3200, 1e-12);
}

TEST(Dragonfly, StaysInItsGroup) {
  const auto flow = flow_of(Cluster(four_groups("spray")), 0, 0, 1, 0);
  EXPECT_EQ(flow.size(), 4U);
  EXPECT_NEAR(flow.at("group0.spines -> leaf1"), 1, 1e-12);
}

TEST(Dragonfly, GoesAroundADeadPairOfGroups) {
  ClusterRequest request = four_groups("spray");
  request.faults = {{"group0.spines - group2.spines", 0}};
  const auto flow = flow_of(Cluster(request), 0, 0, 5, 1);
  EXPECT_FALSE(flow.contains("group0.spines -> group2.spines"));
  EXPECT_NEAR(flow.at("group0.spines -> group1.spines"), 0.5, 1e-12);
}

// leaf, spine, another group's spine, leaf: three links between switches, never more.
TEST(Dragonfly, HashedFlowsTakeShortestPathsOverDifferentSpines) {
  const Cluster cluster(four_groups("ecmp", 8));
  std::set<std::string> used;
  for (int nic = 0; nic < 4; ++nic) {
    for (int peer = 0; peer < 4; ++peer) {
      const auto flow = flow_of(cluster, 0, nic, 5, peer);
      EXPECT_EQ(flow.size(), 5U);
      for (const auto& [link, share] : flow)
        if (link.starts_with("group0.")) used.insert(link);
    }
  }
  EXPECT_GT(used.size(), 3U);
}

// Eight global links of a group on four spines: two on each.
TEST(Dragonfly, DealsGlobalLinksOutToTheSpinesEvenly) {
  const Cluster cluster(four_groups("static", 4));
  for (int spine = 0; spine < 4; ++spine) {
    const std::string name = "group1.spine" + std::to_string(spine);
    double sum = 0;
    for (const Link& link : cluster.links()) {
      const std::string& to = cluster.devices()[static_cast<std::size_t>(link.to)].name;
      if (link.from == cluster.device_named(name) && to.starts_with("group"))
        sum += link.capacity.value * 8e-9;
    }
    EXPECT_NEAR(sum, 3 * 400, 1e-9) << name;  // 3 x 4 links over four spines
  }
}

}  // namespace
}  // namespace stepcast
