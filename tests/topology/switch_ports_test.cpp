// I47: switch ports per GPU of a non-blocking network: 3 with two levels, 5 with three.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/topology/cluster_fixture.hpp"
#include "topology/network_plan.hpp"

namespace stepcast {
namespace {

/// Ports that cards and cables take, over the GPUs: one for a card, two for a cable of a card's rate.
double ports_per_gpu(int nodes, const std::string& topology) {
  ClusterRequest request = request_of(nodes, "hgx-h100", "infiniband-400g");
  request.topology = topology;
  std::vector<FabricPort> ports;
  for (int node = 0; node < nodes; ++node)
    for (int nic = 0; nic < 8; ++nic) ports.push_back({node, nic, node * 8 + nic, request.fabric.link_rate});
  const NetworkPlan plan = lay_tree(request, ports);
  double cables = 0;
  for (const NetworkCable& cable : plan.cables) cables += cable.rate / request.fabric.link_rate;
  return (static_cast<double>(ports.size()) + 2 * cables) / static_cast<double>(ports.size());
}

TEST(I47, OneSwitchTakesOnePortPerGpu) { EXPECT_EQ(ports_per_gpu(8, "single-switch"), 1); }

// 64 nodes fill 16 leaves of 32 cards: down, up, spine.
TEST(I47, TwoLevelsTakeThree) {
  EXPECT_DOUBLE_EQ(ports_per_gpu(64, "leaf-spine"), 3);
  EXPECT_DOUBLE_EQ(ports_per_gpu(64, "rail-optimized"), 3);
}

// 512 nodes are four pods of 32 leaves of 32 cards: down, up, pod spine, up, core.
TEST(I47, ThreeLevelsTakeFive) { EXPECT_DOUBLE_EQ(ports_per_gpu(512, "fat-tree"), 5); }

}  // namespace
}  // namespace stepcast
