#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/topology/cluster_fixture.hpp"

namespace stepcast {
namespace {

/// `cards` pairs over as many spines, each with so many flows: a fair share over the mean, over seeds, of the
/// greatest load of an uplink, hence of the time until the slowest flow is done.
double slowest_of_fair(int cards, int flows_each) {
  ClusterRequest request = request_of(2, "hgx-h100", "roce-400g");
  request.fabric.nics_per_node = cards;
  request.fabric.leaf_ports = 2 * cards;
  request.fabric.channels_per_nic = 1;
  request.fabric.flows_per_connection = flows_each;
  request.topology = "leaf-spine";
  request.routing = "ecmp";
  double sum = 0;
  constexpr int seeds = 300;
  for (int seed = 0; seed < seeds; ++seed) {
    request.routing_seed = static_cast<std::uint64_t>(seed);
    const Cluster cluster(request);
    std::vector<double> load(cluster.links().size(), 0);
    for (int nic = 0; nic < cards; ++nic)
      for (const FlowShare& share : cluster.fabric_flow(0, nic, 1, nic))
        load[static_cast<std::size_t>(share.link)] += share.share;
    double most = 0;
    for (std::size_t link = 0; link < load.size(); ++link)
      if (cluster.links()[link].kind == LinkKind::fabric) most = std::max(most, load[link]);
    sum += most;  // as many uplinks as cards: 1 is a fair share
  }
  return seeds / sum;
}

// k flows thrown on u links at random: k/u over the mean of the fullest, by Monte Carlo 0.387, 0.282, 0.369,
// 0.556. The fullest link varies by less than a quarter of its mean, so the mean over 300 seeds is good
// to 1.5 %.
TEST(EcmpCollisions, LeaveTheSlowestFlowItsShareOfTheFullestLink) {
  EXPECT_NEAR(slowest_of_fair(8, 1), 0.39, 0.02);
  EXPECT_NEAR(slowest_of_fair(32, 1), 0.28, 0.02);
}

// Queue pairs are hashed each by itself.
TEST(EcmpCollisions, ShrinkWithMoreFlowsPerConnection) {
  EXPECT_NEAR(slowest_of_fair(32, 2), 0.37, 0.02);
  EXPECT_NEAR(slowest_of_fair(32, 8), 0.56, 0.02);
}

ClusterRequest eight_nodes(const std::string& routing, std::uint64_t seed) {
  ClusterRequest request = request_of(8, "hgx-h100", "roce-400g");
  request.topology = "leaf-spine";
  request.routing = routing;
  request.routing_seed = seed;
  return request;
}

TEST(RoutingSeed, MovesHashedFlowsAndNothingElse) {
  const auto flows = [](const std::string& routing, std::uint64_t seed) {
    const Cluster cluster(eight_nodes(routing, seed));
    std::vector<std::map<std::string, double>> found;
    for (int nic = 0; nic < 8; ++nic) found.push_back(flow_of(cluster, 0, nic, 5, nic));
    return found;
  };
  EXPECT_EQ(flows("ecmp", 1), flows("ecmp", 1));
  EXPECT_NE(flows("ecmp", 1), flows("ecmp", 2));
  EXPECT_EQ(flows("static", 1), flows("static", 2));
  EXPECT_EQ(flows("spray", 1), flows("spray", 2));
}

// One connection per channel: NCCL has two channels per card on RoCE, so a pair of cards is at most two
// flows.
TEST(EcmpFlows, AreOnePerChannelOfACard) {
  const Cluster cluster(eight_nodes("ecmp", 1));
  bool parted = false;
  for (int nic = 0; nic < 8; ++nic) {
    double up = 0;
    for (const auto& [link, share] : flow_of(cluster, 0, nic, 5, nic)) {
      if (!link.starts_with("leaf0 -> spine")) continue;
      EXPECT_TRUE(share == 1 || share == 0.5) << share;
      parted = parted || share == 0.5;
      up += share;
    }
    EXPECT_NEAR(up, 1, 1e-12);
  }
  EXPECT_TRUE(parted);
}

// TCP has its own number of sockets between two nodes.
TEST(EcmpFlows, OfTcpAreItsSockets) {
  ClusterRequest request = request_of(40, "hgx-h100", "ethernet-100g");
  request.topology = "leaf-spine";
  request.routing = "ecmp";
  request.fabric.sockets_untuned = 4;
  const Cluster cluster(request);
  for (int peer = 32; peer < 40; ++peer)
    for (const auto& [link, share] : flow_of(cluster, 0, 0, peer, 0)) {
      const double quarters = 4 * share;
      EXPECT_NEAR(quarters, std::round(quarters), 1e-12) << link;
    }
}

}  // namespace
}  // namespace stepcast
