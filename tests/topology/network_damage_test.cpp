#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/topology/cluster_fixture.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

// Eight nodes of eight cards on two leaves of 32: 32 spines, each with 400 Gb/s to both leaves.
ClusterRequest two_leaves(const std::string& routing, std::vector<LinkFault> faults) {
  ClusterRequest request = request_of(8, "hgx-h100", "infiniband-400g");
  request.topology = "leaf-spine";
  request.routing = routing;
  request.faults = std::move(faults);
  return request;
}

std::string complaint_about(const ClusterRequest& request) {
  try {
    const Cluster cluster(request);
  } catch (const std::invalid_argument& fault) {
    return fault.what();
  }
  return "";
}

// One of 32 spines dead: each leaf keeps 31 x 400 = 12,400 Gb/s. One leaf's cable to it at a quarter: that
// leaf loses 300 of 12,800.
TEST(NetworkDamage, ComesOutOfTheBundleWhenPacketsAreSprayed) {
  const Cluster spine(two_leaves("spray", {{"spine3", 0}}));
  EXPECT_NEAR(gigabits_between(spine, "leaf0", "spines"), 12400, 1e-6);
  EXPECT_NEAR(gigabits_between(spine, "spines", "leaf1"), 12400, 1e-6);
  const Cluster cable(two_leaves("spray", {{"leaf1 - spine3", 0.25}}));
  EXPECT_NEAR(gigabits_between(cable, "leaf1", "spines"), 12500, 1e-6);
  EXPECT_NEAR(gigabits_between(cable, "leaf0", "spines"), 12800, 1e-6);
  const Cluster all(two_leaves("spray", {{"leaf0 - spines", 0.5}}));
  EXPECT_NEAR(gigabits_between(all, "leaf0", "spines"), 6400, 1e-6);
}

TEST(NetworkDamage, OfOneSpineMovesHashedFlowsToTheOthers) {
  for (const char* routing : {"ecmp", "static"}) {
    const Cluster whole(two_leaves(routing, {})), hurt(two_leaves(routing, {{"spine5", 0}}));
    int over_it = 0;
    for (int nic = 0; nic < 32; ++nic) {
      for (const auto& [link, share] : flow_of(whole, nic / 8, nic % 8, 4 + nic / 8, nic % 8))
        over_it += link == "leaf0 -> spine5" ? 1 : 0;
      for (const auto& [link, share] : flow_of(hurt, nic / 8, nic % 8, 4 + nic / 8, nic % 8)) {
        EXPECT_THAT(link, testing::Not(HasSubstr("spine5")));
        EXPECT_GT(share, 0);
      }
    }
    EXPECT_GT(over_it, 0) << routing;
  }
}

TEST(NetworkDamage, OfALeafIsAlsoThatOfItsCards) {
  const Cluster cluster(two_leaves("spray", {{"leaf0", 0.5}}));
  EXPECT_NEAR(gigabits_between(cluster, "node0.nic0", "leaf0"), 200, 1e-9);
  EXPECT_NEAR(gigabits_between(cluster, "node4.nic0", "leaf1"), 400, 1e-9);
}

TEST(NetworkDamage, ThatCutsTwoCardsApartIsToldWithBothEnds) {
  const Cluster cluster(two_leaves("spray", {{"leaf0 - spines", 0}}));
  EXPECT_TRUE(cluster.connected(0, 0, 3, 7));
  EXPECT_FALSE(cluster.connected(0, 0, 4, 0));
  try {
    (void)cluster.fabric_flow(0, 0, 4, 1);
    FAIL() << "there is no way";
  } catch (const std::invalid_argument& fault) {
    EXPECT_STREQ(fault.what(), "the network does not lead from node0.nic0 to node4.nic1");
  }
}

TEST(NetworkDamage, AtNothingIsRefusedWithANearName) {
  EXPECT_THAT(complaint_about(two_leaves("spray", {{"spine32", 0}})),
              HasSubstr("has no \"spine32\": did you mean"));
  EXPECT_THAT(complaint_about(two_leaves("ecmp", {{"leaf0 - leaf1", 0}})),
              HasSubstr("no link joins leaf0 and leaf1"));
}

}  // namespace
}  // namespace stepcast
