#include "sim/report/bottleneck.hpp"

#include <gtest/gtest.h>

#include "sim/report/links.hpp"
#include "tests/sim/report/example_step.hpp"

namespace stepcast {
namespace {

/// Any cluster with NVLink and a network: two H100 servers on 100 GbE.
Cluster two_nodes() {
  ClusterRequest request;
  request.nodes = 2;
  request.gpus_per_node = 8;
  request.node = load_node("hgx-h100", {});
  request.fabric = load_fabric("ethernet-100g", {});
  return Cluster(request);
}

int link_of(const Cluster& cluster, LinkKind kind) {
  for (std::size_t i = 0; i < cluster.links().size(); ++i) {
    if (cluster.links()[i].kind == kind) return static_cast<int>(i);
  }
  return -1;
}

std::string bottleneck(const ExampleStep& step, const Cluster& cluster, KernelTimes kernels = {}) {
  return bottleneck_of(step.program, step.timeline, analyse_step(step.program, step.timeline), cluster,
                       [&] { return kernels; });
}

/// 100 us of compute, then a transfer of 300 us that loads two links.
ExampleStep communicating_step(const Cluster& cluster, double nic_weight, double nvlink_weight,
                               double latency) {
  ExampleStep step;
  step.program.resources = {{10e9, link_of(cluster, LinkKind::nic), 1},
                            {100e9, link_of(cluster, LinkKind::nvlink), 1}};
  step.kernel(TaskRole::backward, 0, 100);
  step.collective("all_reduce", 1e6, 100, 100, 400, 0, latency, {{0, nic_weight}, {1, nvlink_weight}});
  step.window(0, 400);
  return step;
}

// Weight over capacity: NIC 1 / 10e9, NVLink 2 / 100e9: the NIC is the tighter one. With weights 0.1 and 2 it
// is NVLink.
TEST(Bottleneck, ExposedCommunicationNamesTheLinkNearestToItsCapacity) {
  const Cluster cluster = two_nodes();
  EXPECT_EQ(bottleneck(communicating_step(cluster, 1, 2, 10), cluster), "nic");
  EXPECT_EQ(bottleneck(communicating_step(cluster, 0.1, 2, 10), cluster), "nvlink");
}

// 200 us of the 300 us are latency.
TEST(Bottleneck, ATransferThatIsMostlyLatencyIsLimitedByLatency) {
  const Cluster cluster = two_nodes();
  EXPECT_EQ(bottleneck(communicating_step(cluster, 1, 2, 200), cluster), "latency");
}

TEST(Bottleneck, ComputeNamesTheKernelClassThatTakesMost) {
  const Cluster cluster = two_nodes();
  ExampleStep step;
  step.kernel(TaskRole::forward, 0, 100);
  step.window(0, 100);
  EXPECT_EQ(bottleneck(step, cluster, {.matrix = 3, .memory = 2, .launch = 1}), "gemm");
  EXPECT_EQ(bottleneck(step, cluster, {.matrix = 2, .memory = 3, .launch = 1}), "memory_bandwidth");
  EXPECT_EQ(bottleneck(step, cluster, {.matrix = 1, .memory = 2, .launch = 3}), "launch");
}

// 60 us products and 40 us memory-bound kernels in 100 us of compute, and 80 us of optimizer: 120 against 60.
TEST(Bottleneck, TheOptimizerIsMemoryBound) {
  const Cluster cluster = two_nodes();
  ExampleStep step;
  step.kernel(TaskRole::forward, 0, 100);
  step.kernel(TaskRole::optimizer, 100, 180);
  step.window(0, 180);
  EXPECT_EQ(bottleneck(step, cluster, {.matrix = 6, .memory = 4, .launch = 0}), "memory_bandwidth");
}

// The GPU works 10 us of 100 us. The CPU spends its time issuing kernels, or on its own business.
TEST(Bottleneck, AnIdleGpuIsTheCpusFault) {
  const Cluster cluster = two_nodes();
  ExampleStep step;
  const int kernel = step.kernel(TaskRole::forward, 90, 100);
  const int wait = step.host_wait(TaskRole::host, 0, 10);
  step.window(0, 100);
  step.program.tasks[static_cast<std::size_t>(kernel)].host_time = ExampleStep::picoseconds(80);
  step.program.tasks[static_cast<std::size_t>(wait)].host_time = ExampleStep::picoseconds(10);
  EXPECT_EQ(bottleneck(step, cluster), "launch");
  step.program.tasks[static_cast<std::size_t>(wait)].host_time = ExampleStep::picoseconds(90);
  EXPECT_EQ(bottleneck(step, cluster), "host");
}

// 1 MB x weight 1 over 10 GB/s x 400 us = 4 MB: 25 % of the NIC; 2 MB over 100 GB/s x 400 us = 40 MB: 5 % of
// NVLink. Both are busy for the 300 us of the transfer.
TEST(Links, UtilizationIsBytesOverCapacityTimesStepTime) {
  const Cluster cluster = two_nodes();
  const ExampleStep step = communicating_step(cluster, 1, 2, 10);
  const auto rows = link_rows(step.program, step.timeline, cluster);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].kind, name_of(LinkKind::nvlink));
  EXPECT_NEAR(rows[0].utilization, 0.05, 1e-12);
  EXPECT_EQ(rows[1].kind, name_of(LinkKind::nic));
  EXPECT_NEAR(rows[1].utilization, 0.25, 1e-12);
  EXPECT_NEAR(rows[1].busy.value, 300e-6, 1e-15);
}

}  // namespace
}  // namespace stepcast
