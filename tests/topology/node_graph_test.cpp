#include "topology/node_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/cluster_fixture.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;

TEST(Dgx1, HasTheConnectionsOfTheHybridCubeMesh) {
  const Cluster cluster(request_of(1, "dgx-1-v100-16g", "infiniband-100g"));
  // nvidia-smi topo -m of an 8x V100-SXM2 machine: NV1, NV2, or none (SYS).
  const int expected[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
                              {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                              {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  for (int a = 0; a < 8; ++a) {
    int sum = 0;
    for (int b = 0; b < 8; ++b) {
      EXPECT_EQ(cluster.nvlink_connections(a, b), expected[a][b]) << a << ", " << b;
      sum += cluster.nvlink_connections(a, b);
    }
    EXPECT_EQ(sum, 6) << "a V100 has six links";
  }
}

// 2 links of 25 GB/s; a single one carries 25.
TEST(Dgx1, ADoubleLinkCarriesTwiceASingleOne) {
  const Cluster cluster(request_of(1, "dgx-1-v100-16g", "infiniband-100g"));
  const auto capacity = [&](int a, int b) {
    const std::vector<int> links = cluster.route(cluster.gpu_device(a), cluster.gpu_device(b));
    EXPECT_EQ(links.size(), 1U);
    return cluster.links()[static_cast<std::size_t>(links.front())].capacity.value;
  };
  EXPECT_DOUBLE_EQ(capacity(0, 3), 50e9);
  EXPECT_DOUBLE_EQ(capacity(0, 1), 25e9);
}

// 0 and 5 have no NVLink between them; 0-4-5 and 0-1-5 both cost two hops of one double and one single link.
TEST(Dgx1, GpusWithoutADirectLinkUseTwoNvlinks) {
  const Cluster cluster(request_of(1, "dgx-1-v100-16g", "infiniband-100g"));
  const std::vector<int> links = cluster.route(cluster.gpu_device(0), cluster.gpu_device(5));
  ASSERT_EQ(links.size(), 2U);
  for (const int link : links)
    EXPECT_EQ(cluster.links()[static_cast<std::size_t>(link)].kind, LinkKind::nvlink);
  EXPECT_TRUE(cluster.nvlink_everywhere());
}

// Four PCIe switches with two GPUs and one port each.
TEST(Dgx1, EachPairOfGpusHasItsOwnPort) {
  const Cluster cluster(request_of(2, "dgx-1-v100-16g", "infiniband-100g"));
  EXPECT_EQ(cluster.nics_per_node(), 4);
  EXPECT_THAT(cluster.nics_near(0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(cluster.nics_near(1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(cluster.nics_near(5), ElementsAre(2, 3, 0, 1));
  EXPECT_EQ(cluster.gpu_near_nic(0), 0);
  EXPECT_EQ(cluster.gpu_near_nic(3), 6);
}

TEST(Hgx, GpusMeetOnTheNvswitch) {
  const Cluster cluster(request_of(1, "hgx-h100", "infiniband-400g"));
  EXPECT_THAT(names(cluster, cluster.route(cluster.gpu_device(3), cluster.gpu_device(6))),
              ElementsAre("node0.gpu3 -> node0.nvswitch0", "node0.nvswitch0 -> node0.gpu6"));
  EXPECT_EQ(cluster.nvlink_connections(3, 6), 18);
  EXPECT_TRUE(cluster.nvlink_everywhere());
  EXPECT_TRUE(cluster.route(cluster.gpu_device(3), cluster.gpu_device(3)).empty());
}

TEST(Hgx, EveryGpuHasItsOwnPort) {
  const Cluster cluster(request_of(2, "hgx-h100", "infiniband-400g"));
  ASSERT_EQ(cluster.nics_per_node(), 8);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(cluster.nics_near(i).front(), i);
    EXPECT_EQ(cluster.gpu_near_nic(i), i);
  }
}

// Two GPUs and two ports on each switch: all four distances are equal, so the ports are shared out by number.
TEST(DgxA100, TiesAreSpreadSoThatEveryPortHasItsOwnGpu) {
  const Cluster cluster(request_of(2, "dgx-a100-80g", "infiniband-200g"));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(cluster.gpu_near_nic(i), i);
  EXPECT_THAT(cluster.nics_near(3), ElementsAre(2, 3, 0, 1, 4, 5, 6, 7));
}

TEST(Nics, OfIdleGpusAreNotDriven) {
  EXPECT_EQ(Cluster(request_of(2, "hgx-h100", "infiniband-400g", 2)).nics_per_node(), 2);
  EXPECT_EQ(Cluster(request_of(2, "dgx-1-v100-32g", "infiniband-100g", 3)).nics_per_node(), 2);
}

// 4 cards on 8 GPUs: card i beside GPU 2i.
TEST(Nics, AGivenNumberIsSpreadOverTheGpus) {
  ClusterRequest request = request_of(2, "dgx-a100-80g", "infiniband-200g");
  request.fabric.nics_per_node = 4;
  const Cluster cluster(request);
  EXPECT_EQ(cluster.nics_per_node(), 4);
  for (int nic = 0; nic < 4; ++nic) EXPECT_EQ(cluster.gpu_near_nic(nic), 2 * nic);
}

TEST(PcieBox, PeersTalkThroughTheirSockets) {
  const Cluster cluster(request_of(1, "pcie-l40s", "roce-100g"));
  EXPECT_FALSE(cluster.nvlink_everywhere());
  EXPECT_THAT(names(cluster, cluster.route(cluster.gpu_device(0), cluster.gpu_device(1))),
              ElementsAre("node0.gpu0 -> node0.host0", "node0.host0 -> node0.gpu1"));
  EXPECT_THAT(
      names(cluster, cluster.route(cluster.gpu_device(3), cluster.gpu_device(4))),
      ElementsAre("node0.gpu3 -> node0.host0", "node0.host0 -> node0.host1", "node0.host1 -> node0.gpu4"));
}

NodeSpec two_on_a_switch(bool peer_to_peer) {
  NodeSpec node;
  node.gpus = 2;
  node.sockets = 1;
  node.pcie_rate = gigabytes_per_second(31.5);
  node.host_memory_rate = gigabytes_per_second(200);
  node.gpus_per_pcie_switch = 2;
  node.pcie_peer_to_peer = peer_to_peer;
  return node;
}

TEST(PcieBox, PeersOnOneSwitchDoNotTouchTheHost) {
  ClusterRequest request;
  request.node = two_on_a_switch(true);
  request.gpus_per_node = 2;
  const Cluster cluster(request);
  EXPECT_THAT(names(cluster, cluster.route(0, 1)),
              ElementsAre("node0.gpu0 -> node0.pcie0", "node0.pcie0 -> node0.gpu1"));
}

TEST(PcieBox, WithoutPeerAccessEvenThoseOnOneSwitchGoThroughHostMemory) {
  ClusterRequest request;
  request.node = two_on_a_switch(false);
  request.gpus_per_node = 2;
  const Cluster cluster(request);
  EXPECT_THAT(names(cluster, cluster.route(0, 1)),
              ElementsAre("node0.gpu0 -> node0.pcie0", "node0.pcie0 -> node0.host0",
                          "node0.host0 -> node0.pcie0", "node0.pcie0 -> node0.gpu1"));
}

TEST(EveryNodePreset, NoRouteBetweenGpusTouchesPcieOrHostWhereNvlinkLeadsThere) {
  for (const std::string& name : node_preset_names()) {
    const Cluster cluster(request_of(1, name, "roce-100g"));
    for (int a = 0; a < cluster.gpus_per_node(); ++a) {
      for (int b = 0; b < cluster.gpus_per_node(); ++b) {
        if (a == b) continue;
        const std::vector<int> links = cluster.route(cluster.gpu_device(a), cluster.gpu_device(b));
        ASSERT_FALSE(links.empty()) << name << ": GPU " << a << " does not reach " << b;
        ASSERT_TRUE(is_path(cluster, links, cluster.gpu_device(a), cluster.gpu_device(b)));
        if (!cluster.nvlink_everywhere()) continue;
        for (const int link : links) {
          ASSERT_EQ(cluster.links()[static_cast<std::size_t>(link)].kind, LinkKind::nvlink) << name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace stepcast
