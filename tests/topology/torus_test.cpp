#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/topology/cluster_fixture.hpp"

namespace stepcast {
namespace {

ClusterRequest torus(std::vector<int> sizes, const std::string& routing) {
  ClusterRequest request = request_of(1, "hgx-h100", "infiniband-400g");
  for (const int size : sizes) request.nodes *= size;
  request.topology = "torus";
  request.torus = std::move(sizes);
  request.routing = routing;
  request.fabric.flows_per_connection = request.fabric.channels_per_nic = 1;
  return request;
}

/// Sum of the shares on links between routers: hops, as a mean over the ways.
double hops(const Cluster& cluster, int node, int peer) {
  double sum = 0;
  for (const FlowShare& share : cluster.fabric_flow(node, 0, peer, 0))
    if (cluster.links()[static_cast<std::size_t>(share.link)].kind == LinkKind::fabric) sum += share.share;
  return sum;
}

int around(int a, int b, int size) { return std::min(std::abs(a - b), size - std::abs(a - b)); }

// Every router has six cables but in a ring of two, where it has one instead of two.
TEST(Torus, HasACableToEachNeighbour) {
  const auto cables = [](const Cluster& cluster) {
    return std::count_if(cluster.links().begin(), cluster.links().end(),
                         [](const Link& link) { return link.kind == LinkKind::fabric; }) /
           2;
  };
  EXPECT_EQ(cables(Cluster(torus({4, 3, 5}, "spray"))), 3 * 60);
  EXPECT_EQ(cables(Cluster(torus({4, 2}, "spray"))), 8 + 4);
  EXPECT_EQ(cables(Cluster(torus({4, 1}, "spray"))), 4);
}

// By default as fast as all eight cards of a node together.
TEST(Torus, LinksHaveTheAskedRateOrThatOfANode) {
  ClusterRequest request = torus({4, 4}, "spray");
  EXPECT_NEAR(gigabits_between(Cluster(request), "router0", "router4"), 8 * 400, 1e-6);
  request.torus_link_rate = gigabits_per_second(800);
  EXPECT_NEAR(gigabits_between(Cluster(request), "router3", "router0"), 800, 1e-6);
}

// Whatever the routing, the way is as long as the distances in all dimensions, each the shorter way round.
TEST(Torus, HopsAreTheDistancesAroundTheRings) {
  for (const char* routing : {"static", "ecmp", "spray"}) {
    const Cluster cluster(torus({5, 4, 3}, routing));
    for (int node = 0; node < 60; node += 7)
      for (int peer = 0; peer < 60; ++peer) {
        if (peer == node) continue;
        const int expected = around(node % 5, peer % 5, 5) + around(node / 5 % 4, peer / 5 % 4, 4) +
                             around(node / 20, peer / 20, 3);
        EXPECT_NEAR(hops(cluster, node, peer), expected, 1e-9) << node << " to " << peer;
      }
  }
}

// (0,0) to (1,1) in 4 x 4: first x, then y.
TEST(Torus, StaticRoutingCrossesTheDimensionsInOrder) {
  const auto flow = flow_of(Cluster(torus({4, 4}, "static")), 0, 0, 5, 0);
  EXPECT_EQ(flow.at("router0 -> router1"), 1);
  EXPECT_EQ(flow.at("router1 -> router5"), 1);
}

// (0,0) to (1,1): half by (1,0), half by (0,1). (0,0) to (2,0) in a ring of four: half each way round. (0,0)
// to (2,1): two ways round x two orders, each a quarter; router0 has y first in half of them.
TEST(Torus, SprayTakesAllOrdersAndBothWaysRound) {
  const Cluster cluster(torus({4, 4}, "spray"));
  const auto diagonal = flow_of(cluster, 0, 0, 5, 0);
  EXPECT_NEAR(diagonal.at("router0 -> router1"), 0.5, 1e-12);
  EXPECT_NEAR(diagonal.at("router0 -> router4"), 0.5, 1e-12);
  const auto opposite = flow_of(cluster, 0, 0, 2, 0);
  EXPECT_NEAR(opposite.at("router0 -> router1"), 0.5, 1e-12);
  EXPECT_NEAR(opposite.at("router0 -> router3"), 0.5, 1e-12);
  const auto both = flow_of(cluster, 0, 0, 6, 0);
  EXPECT_NEAR(both.at("router0 -> router4"), 0.5, 1e-12);
  EXPECT_NEAR(both.at("router0 -> router1"), 0.25, 1e-12);
  EXPECT_NEAR(both.at("router0 -> router3"), 0.25, 1e-12);
}

// Cutting a 4 x 4 torus in two halves cuts two cables in each of the four rings across.
TEST(Torus, BisectionIsTwoCablesPerRing) {
  const Cluster cluster(torus({4, 4}, "spray"));
  int cut = 0;
  for (const Link& link : cluster.links()) {
    if (link.kind != LinkKind::fabric) continue;
    const int from = cluster.devices()[static_cast<std::size_t>(link.from)].index;
    const int to = cluster.devices()[static_cast<std::size_t>(link.to)].index;
    cut += from % 4 < 2 && to % 4 >= 2 ? 1 : 0;
  }
  EXPECT_EQ(cut, 8);
}

TEST(Torus, LeavesDeadLinksOutAndGoesAroundThemIfItMust) {
  ClusterRequest request = torus({4, 4}, "spray");
  request.faults = {{"router0 - router1", 0}};
  const Cluster cluster(request);
  const auto diagonal = flow_of(cluster, 0, 0, 5, 0);
  EXPECT_NEAR(diagonal.at("router0 -> router4"), 1, 1e-12);
  EXPECT_NEAR(hops(cluster, 0, 1), 3, 1e-9);  // the neighbour itself: around by another ring
}

TEST(Torus, HashedFlowsSpreadOverTheOrders) {
  const Cluster cluster(torus({4, 4}, "ecmp"));
  int x_first = 0;
  for (int nic = 0; nic < 8; ++nic)
    for (int peer = 0; peer < 8; ++peer)
      for (const FlowShare& share : cluster.fabric_flow(0, nic, 5, peer))
        x_first += cluster.link_name(share.link) == "router0 -> router1" ? 1 : 0;
  EXPECT_GT(x_first, 16);  // of 64, a half being 32 with a deviation of 4
  EXPECT_LT(x_first, 48);
}

}  // namespace
}  // namespace stepcast
