#include "topology/cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "tests/topology/cluster_fixture.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;

TEST(Cluster, NumbersRanksNodeByNode) {
  const Cluster cluster(request_of(4, "hgx-h100", "infiniband-400g", 4));
  EXPECT_EQ(cluster.gpu_count(), 16);
  const Device& device = cluster.devices()[static_cast<std::size_t>(cluster.gpu_device(9))];
  EXPECT_EQ(device.kind, DeviceKind::gpu);
  EXPECT_EQ(device.node, 2);
  EXPECT_EQ(device.index, 1);
  EXPECT_EQ(device.name, "node2.gpu1");
}

// Per node 8 GPUs, 1 NVSwitch, 8 PCIe switches, 2 hosts, 8 NICs; one leaf for all.
TEST(Cluster, HasTheDevicesOfFourHgxNodes) {
  const Cluster cluster(request_of(4, "hgx-h100", "infiniband-400g"));
  EXPECT_EQ(cluster.devices().size(), 4U * 27U + 1U);
  const auto count = [&](DeviceKind kind) {
    return std::count_if(cluster.devices().begin(), cluster.devices().end(),
                         [&](const Device& device) { return device.kind == kind; });
  };
  EXPECT_EQ(count(DeviceKind::gpu), 32);
  EXPECT_EQ(count(DeviceKind::nvswitch), 4);
  EXPECT_EQ(count(DeviceKind::pcie_switch), 32);
  EXPECT_EQ(count(DeviceKind::host), 8);
  EXPECT_EQ(count(DeviceKind::nic), 32);
  EXPECT_EQ(count(DeviceKind::leaf_switch), 1);
  EXPECT_EQ(count(DeviceKind::spine_switch), 0);
}

TEST(Cluster, LinksCarryTheRatesOfNodeAndFabric) {
  const Cluster cluster(request_of(2, "hgx-h100", "infiniband-400g"));
  for (const Link& link : cluster.links()) {
    switch (link.kind) {
      case LinkKind::nvlink:
        EXPECT_DOUBLE_EQ(link.capacity.value, 18 * 25e9);
        break;
      case LinkKind::pcie:
        EXPECT_DOUBLE_EQ(link.capacity.value, 63e9);
        break;
      case LinkKind::host:
        EXPECT_DOUBLE_EQ(link.capacity.value, 128e9);
        break;
      case LinkKind::nic:
        EXPECT_DOUBLE_EQ(link.capacity.value, 50e9);  // 400 Gb/s, the raw rate
        break;
      case LinkKind::fabric:
        ADD_FAILURE() << "a single switch has no uplinks";
    }
  }
}

TEST(NetworkRoute, WithGpudirectTouchesNoHost) {
  const Cluster cluster(request_of(2, "hgx-h100", "infiniband-400g"));
  EXPECT_TRUE(cluster.gpudirect());
  EXPECT_THAT(names(cluster, cluster.network_route(3, 3, 11, 3)),
              ElementsAre("node0.gpu3 -> node0.pcie3", "node0.pcie3 -> node0.nic3", "node0.nic3 -> leaf0",
                          "leaf0 -> node1.nic3", "node1.nic3 -> node1.pcie3", "node1.pcie3 -> node1.gpu3"));
}

// GPU 5 is on socket 1, the card on socket 0: the copy lands in socket 1's memory and crosses to the card.
TEST(NetworkRoute, TcpIsStagedThroughHostMemoryAtBothEnds) {
  const Cluster cluster(request_of(2, "hgx-h100", "ethernet-100g"));
  EXPECT_FALSE(cluster.gpudirect());
  EXPECT_EQ(cluster.nics_per_node(), 1);
  EXPECT_THAT(
      names(cluster, cluster.network_route(0, 0, 13, 0)),
      ElementsAre("node0.gpu0 -> node0.pcie0", "node0.pcie0 -> node0.host0", "node0.host0 -> node0.nic0",
                  "node0.nic0 -> leaf0", "leaf0 -> node1.nic0", "node1.nic0 -> node1.host0",
                  "node1.host0 -> node1.host1", "node1.host1 -> node1.pcie5", "node1.pcie5 -> node1.gpu5"));
}

// The card shares the GPU's switch, yet the data go up to the host and come back: each PCIe link once in its
// direction.
TEST(NetworkRoute, RdmaWithoutGpudirectOfTheNodeGoesUpToTheHostAndBack) {
  ClusterRequest request = request_of(2, "dgx-a100-40g", "roce-200g");
  request.node.gpudirect = false;
  const Cluster cluster(request);
  EXPECT_THAT(names(cluster, cluster.network_route(0, 0, 8, 0)),
              ElementsAre("node0.gpu0 -> node0.pcie0", "node0.pcie0 -> node0.host0",
                          "node0.host0 -> node0.pcie0", "node0.pcie0 -> node0.nic0", "node0.nic0 -> leaf0",
                          "leaf0 -> node1.nic0", "node1.nic0 -> node1.pcie0", "node1.pcie0 -> node1.host0",
                          "node1.host0 -> node1.pcie0", "node1.pcie0 -> node1.gpu0"));
}

TEST(NetworkRoute, AGpuThatIsNotBesideTheCardSendsByNvlinkThroughTheOneThatIs) {
  const Cluster cluster(request_of(2, "hgx-h100", "infiniband-400g"));
  EXPECT_THAT(names(cluster, cluster.network_route(0, 6, 14, 6)),
              ElementsAre("node0.gpu0 -> node0.nvswitch0", "node0.nvswitch0 -> node0.gpu6",
                          "node0.gpu6 -> node0.pcie6", "node0.pcie6 -> node0.nic6", "node0.nic6 -> leaf0",
                          "leaf0 -> node1.nic6", "node1.nic6 -> node1.pcie6", "node1.pcie6 -> node1.gpu6"));
}

TEST(NetworkRoute, WithoutNvlinkItCrossesTheSocketsInstead) {
  const Cluster cluster(request_of(2, "pcie-l40s", "roce-100g"));
  EXPECT_THAT(names(cluster, cluster.network_route(0, 6, 14, 6)),
              ElementsAre("node0.gpu0 -> node0.host0", "node0.host0 -> node0.host1",
                          "node0.host1 -> node0.nic6", "node0.nic6 -> leaf0", "leaf0 -> node1.nic6",
                          "node1.nic6 -> node1.host1", "node1.host1 -> node1.gpu6"));
}

TEST(NetworkRoute, OfAPlainMachineRunsFromItsCoreThroughItsMemory) {
  const Cluster cluster(request_of(2, "cpu-host", "ethernet-1g"));
  EXPECT_THAT(names(cluster, cluster.network_route(0, 0, 1, 0)),
              ElementsAre("node0.gpu0 -> node0.host0", "node0.host0 -> node0.nic0", "node0.nic0 -> leaf0",
                          "leaf0 -> node1.nic0", "node1.nic0 -> node1.host0", "node1.host0 -> node1.gpu0"));
}

// A rack of NVL72 has no bus between its boards, so GPU 35 reaches the rack's one Ethernet card over NVLink.
TEST(NetworkRoute, BoardsWithoutACommonBusStageThroughTheGpuBesideTheCard) {
  const Cluster cluster(request_of(2, "gb200-nvl72", "ethernet-100g"));
  const std::vector<int> links = cluster.network_route(35, 0, 72, 0);
  EXPECT_TRUE(is_path(cluster, links, cluster.gpu_device(35), cluster.gpu_device(72)));
}

// 1.5 us through one switch is half on either cable.
TEST(NetworkRoute, LatenciesAddUpToTheFabrics) {
  const Cluster cluster(request_of(2, "hgx-h100", "infiniband-400g"));
  double sum = 0;
  for (const int link : cluster.network_route(0, 0, 8, 0)) {
    sum += cluster.links()[static_cast<std::size_t>(link)].latency.value;
  }
  EXPECT_NEAR(sum, 1.5e-6, 1e-15);
}

TEST(Route, BetweenGpusOfTwoNodesUsesTheirNearestCards) {
  const Cluster cluster(request_of(2, "hgx-h100", "infiniband-400g"));
  EXPECT_EQ(cluster.route(cluster.gpu_device(2), cluster.gpu_device(13)), cluster.network_route(2, 2, 13, 5));
}

TEST(Route, ReachesSwitchesAndHostsToo) {
  const Cluster cluster(request_of(2, "hgx-h100", "infiniband-400g"));
  const auto leaf = std::find_if(cluster.devices().begin(), cluster.devices().end(),
                                 [](const Device& device) { return device.kind == DeviceKind::leaf_switch; });
  const int leaf_device = static_cast<int>(leaf - cluster.devices().begin());
  EXPECT_THAT(names(cluster, cluster.route(cluster.host_device(0, 0), cluster.host_device(0, 1))),
              ElementsAre("node0.host0 -> node0.host1"));
  const std::vector<int> links = cluster.route(cluster.gpu_device(0), leaf_device);
  EXPECT_THAT(names(cluster, links),
              ElementsAre("node0.gpu0 -> node0.pcie0", "node0.pcie0 -> node0.nic0", "node0.nic0 -> leaf0"));
  EXPECT_TRUE(is_path(cluster, cluster.route(cluster.host_device(0, 1), cluster.host_device(1, 0)),
                      cluster.host_device(0, 1), cluster.host_device(1, 0)));
}

// Rows of paths are searched on first use, so several threads may meet at one that nobody has asked for yet.
TEST(Cluster, AnswersSeveralThreadsAtOnceAlike) {
  const Cluster cluster(request_of(2, "dgx-1-v100-16g", "infiniband-100g"));
  const auto all_routes = [&] {
    std::vector<std::vector<int>> found;
    for (int a = 0; a < 16; ++a) {
      for (int b = 0; b < 16; ++b) {
        found.push_back(cluster.route(cluster.gpu_device(a), cluster.gpu_device(b)));
        found.push_back(cluster.network_route(a, a % 4, b, b % 4));
      }
    }
    return found;
  };
  std::vector<std::vector<std::vector<int>>> answers(4);
  std::vector<std::thread> threads;
  for (auto& answer : answers) threads.emplace_back([&] { answer = all_routes(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& answer : answers) EXPECT_EQ(answer, all_routes());
}

// 2,048 nodes, 32 of them on a rail's leaf: 64 groups of 8 leaves.
// 512 leaves in 16 pods of 32 (each four groups of eight rails); per pod one device for its spines, and one
// for the cores.
TEST(Cluster, HoldsSixteenThousandGpus) {
  ClusterRequest request = request_of(2048, "hgx-h100", "infiniband-400g");
  request.topology = "rail-optimized";
  const Cluster cluster(request);
  EXPECT_EQ(cluster.gpu_count(), 16384);
  EXPECT_EQ(cluster.devices().size(), 2048U * 27U + 64U * 8U + 16U + 1U);
  EXPECT_THAT(names(cluster, cluster.network_route(16383, 7, 7, 7)),
              ElementsAre("node2047.gpu7 -> node2047.pcie7", "node2047.pcie7 -> node2047.nic7",
                          "node2047.nic7 -> leaf511", "leaf511 -> pod15.spines", "pod15.spines -> cores",
                          "cores -> pod0.spines", "pod0.spines -> leaf7", "leaf7 -> node0.nic7",
                          "node0.nic7 -> node0.pcie7", "node0.pcie7 -> node0.gpu7"));
}

TEST(Cluster, OneNodeNeedsNoFabric) {
  ClusterRequest request;
  request.node = load_node("hgx-h100", {});
  request.gpus_per_node = 8;
  const Cluster cluster(request);
  EXPECT_EQ(cluster.nics_per_node(), 0);
  EXPECT_EQ(cluster.route(cluster.gpu_device(0), cluster.gpu_device(7)).size(), 2U);
}

TEST(Cluster, RefusesWhatItCannotBuild) {
  const auto refused = [](auto change) {
    ClusterRequest request = request_of(2, "hgx-h100", "infiniband-400g");
    change(request);
    EXPECT_THROW(Cluster{request}, std::invalid_argument);
  };
  refused([](ClusterRequest& request) { request.nodes = 0; });
  refused([](ClusterRequest& request) { request.gpus_per_node = 9; });
  refused([](ClusterRequest& request) { request.oversubscription = 0.5; });
  refused([](ClusterRequest& request) {
    request.topology = "torus";
    request.torus = {2, 2};
  });
  refused([](ClusterRequest& request) { request.topology = "graph"; });
  refused([](ClusterRequest& request) { request.topology = "hypercube"; });
  refused([](ClusterRequest& request) { request.routing = "valiant"; });
  refused([](ClusterRequest& request) { request.fabric = FabricSpec{}; });
}

}  // namespace
}  // namespace stepcast
