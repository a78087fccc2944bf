#include "sim/collective/latency.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

GroupTraits traits(int nodes, int per_node, double network_us, bool nvlink = true) {
  return {nodes * per_node, nodes, per_node, nvlink && per_node > 1, true, microseconds(network_us)};
}

double latency_us(Operation operation, Algorithm algorithm, Protocol protocol, const GroupTraits& group) {
  return start_latency(nccl_constants(), operation, algorithm, protocol, group).value * 1e6;
}

// 6.6 + 14 * 1.23 * 0.6 = 16.93 us (8x A100 measured 18 to 24; 8x H100 13 to 15).
TEST(StartLatency, LowLatencyRingInsideANode) {
  EXPECT_NEAR(latency_us(Operation::all_reduce, Algorithm::ring, Protocol::ll, traits(1, 8, 0)), 16.932,
              1e-6);
}

// 8.4 + 14 * 0.95 * 3.4 = 53.62 us.
TEST(StartLatency, SimpleRingInsideANode) {
  EXPECT_NEAR(latency_us(Operation::all_reduce, Algorithm::ring, Protocol::simple, traits(1, 8, 0)), 53.62,
              1e-6);
}

// Two hosts with one GPU: 6.6 + 2 * (2.7 + 0.9) = 13.8 us (L40S over RoCE measured 12.4; RTX 3090 14.6).
TEST(StartLatency, TwoHostsOverRoce) {
  EXPECT_NEAR(latency_us(Operation::all_reduce, Algorithm::ring, Protocol::ll, traits(2, 1, 0.9)), 13.8,
              1e-6);
}

// The tree's depth is logarithmic: 6.8 + 2 (7 * 0.738 + 4 * (5 + 22)) = 233.1 us on 16 nodes (P5 measured
// 235).
TEST(StartLatency, TreeOnSixteenNodes) {
  EXPECT_NEAR(latency_us(Operation::all_reduce, Algorithm::tree, Protocol::ll, traits(16, 8, 22)), 233.132,
              1e-6);
}

// 31.5 us in the node; 31.5 + 26 + 2 * (14 + 1.3 * 1.5) = 89.4 us for two nodes over InfiniBand.
TEST(StartLatency, InSwitchReduction) {
  EXPECT_NEAR(latency_us(Operation::all_reduce, Algorithm::nvls, Protocol::simple, traits(1, 8, 0)), 31.5,
              1e-6);
  EXPECT_NEAR(latency_us(Operation::all_reduce, Algorithm::nvls_tree, Protocol::simple, traits(2, 8, 1.5)),
              89.4, 1e-6);
}

// Staging through host memory waits longer for every network step of Simple: 8.4 + 2 (14 + 1.9 * 47) = 215
// us.
TEST(StartLatency, StagingCostsMoreTripsThanGpudirect) {
  GroupTraits staged = traits(2, 1, 47);
  staged.gpudirect = false;
  EXPECT_NEAR(latency_us(Operation::all_reduce, Algorithm::ring, Protocol::simple, staged), 215, 1e-6);
}

// f L D / (D + 1.5 L) with f = 1.3, L = 50 us: D = 75 us gives half of 65 us; without end it stays at 65 us.
TEST(FillTime, SaturatesAtItsFactorTimesTheLatency) {
  const auto& constants = nccl_constants();
  EXPECT_NEAR(fill_time(constants, 1.3, microseconds(50), microseconds(75)).value, 32.5e-6, 1e-12);
  EXPECT_NEAR(fill_time(constants, 1.3, microseconds(50), Seconds(1e6)).value, 65e-6, 1e-12);
  EXPECT_EQ(fill_time(constants, 1.3, Seconds{}, Seconds{}).value, 0);
  EXPECT_EQ(fill_factor(constants, Operation::all_reduce, Protocol::ll, true), 0);
}

}  // namespace
}  // namespace stepcast
