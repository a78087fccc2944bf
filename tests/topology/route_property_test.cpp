#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/topology/cluster_fixture.hpp"

namespace stepcast {
namespace {

NodeSpec random_node(std::mt19937& random) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  NodeSpec node;
  node.gpus = 1 + up_to(15);
  node.sockets = 1 + up_to(3);
  node.socket_rate = gigabytes_per_second(20 + up_to(100));
  node.host_memory_rate = gigabytes_per_second(100);
  node.pcie_rate = gigabytes_per_second(16 << up_to(2));
  node.gpus_per_pcie_switch = up_to(4);
  node.pcie_peer_to_peer = up_to(1) == 1;
  node.gpudirect = up_to(1) == 1;
  node.nvlink = static_cast<NodeSpec::Nvlink>(up_to(2));
  node.nvlink_rate_per_link = gigabytes_per_second(25);
  node.nvlink_links_per_gpu = 1 + up_to(17);
  if (node.nvlink == NodeSpec::Nvlink::mesh) {
    for (int a = 0; a < node.gpus; ++a) {
      for (int b = a + 1; b < node.gpus; ++b) {
        if (up_to(2) == 0) node.nvlink_mesh.push_back({a, b, 1 + up_to(1)});
      }
    }
  }
  node.nics_default = up_to(8);
  for (int nic = 0; nic < node.nics_default; ++nic) node.nic_gpu.push_back(up_to(node.gpus - 1));
  return node;
}

ClusterRequest random_request(std::mt19937& random) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  const auto pick = [&](const auto& words) { return words[random() % words.size()]; };
  ClusterRequest request;
  request.node = random_node(random);
  request.nodes = 1 + up_to(11);
  request.gpus_per_node = 1 + up_to(request.node.gpus - 1);
  request.fabric.link_rate = gigabits_per_second(1 << up_to(9));
  request.fabric.transport = up_to(3) == 0 ? Transport::ethernet : Transport::roce;
  request.fabric.gpudirect = request.fabric.transport != Transport::ethernet;
  request.fabric.nics_per_node = up_to(4);
  request.fabric.leaf_ports = 2 + 2 * up_to(15);
  request.topology = pick(
      std::vector<std::string>{"single-switch", "leaf-spine", "fat-tree", "rail-optimized", "rail-only"});
  request.routing = pick(std::vector<std::string>{"spray", "ecmp", "static"});
  request.oversubscription = 1 + up_to(6) / 2.0;
  return request;
}

std::string describe(const ClusterRequest& request) {
  return std::to_string(request.nodes) + " nodes, " + request.topology + ", " + request.routing + ", " +
         std::to_string(request.gpus_per_node) + " GPUs";
}

TEST(RandomClusters, EveryRouteIsAConnectedPathWithoutRepeatedLinks) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const ClusterRequest request = random_request(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(request));
    const Cluster cluster(request);
    const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
    for (int i = 0; i < 40; ++i) {
      const int a = below(cluster.gpu_count());
      const int b = below(cluster.gpu_count());
      const int from = cluster.gpu_device(a);
      const int to = cluster.gpu_device(b);
      const std::vector<int> links = cluster.route(from, to);
      ASSERT_TRUE(is_path(cluster, links, from, to)) << a << " to " << b;
      ASSERT_EQ(links.empty(), from == to);
      ASSERT_EQ(std::set<int>(links.begin(), links.end()).size(), links.size());
      const int nic = below(cluster.nics_per_node());
      const int peer_nic = below(cluster.nics_per_node());
      const std::vector<int> network = cluster.network_route(a, nic, b, peer_nic);
      ASSERT_TRUE(is_path(cluster, network, from, to))
          << a << " by " << nic << " to " << b << " by " << peer_nic;
    }
    for (int i = 0; i < 10; ++i) {
      const int from = below(static_cast<int>(cluster.devices().size()));
      const int to = below(static_cast<int>(cluster.devices().size()));
      ASSERT_TRUE(is_path(cluster, cluster.route(from, to), from, to)) << from << " to " << to;
    }
  }
}

TEST(RandomClusters, EveryNicIsFedByAUsedGpuAndListedForEveryGpu) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const Cluster cluster(random_request(random));
    for (int nic = 0; nic < cluster.nics_per_node(); ++nic) {
      ASSERT_GE(cluster.gpu_near_nic(nic), 0);
      ASSERT_LT(cluster.gpu_near_nic(nic), cluster.gpus_per_node());
    }
    const std::vector<int> order = cluster.nics_near(0);
    ASSERT_EQ(std::set<int>(order.begin(), order.end()).size(),
              static_cast<std::size_t>(cluster.nics_per_node()));
  }
}

// All downlinks of a full leaf over all its uplinks is the oversubscription, whatever the routing.
TEST(RandomClusters, UplinksOfTheFullestLeafHaveTheAskedRatio) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const ClusterRequest request = random_request(random);
    const Cluster cluster(request);
    std::vector<double> down(cluster.devices().size(), 0), up(cluster.devices().size(), 0);
    double most_down = 0;
    double most_up = 0;
    for (const Link& link : cluster.links()) {
      const auto to = static_cast<std::size_t>(link.to);
      const auto from = static_cast<std::size_t>(link.from);
      if (link.kind == LinkKind::nic && cluster.devices()[to].kind == DeviceKind::leaf_switch) {
        most_down = std::max(most_down, down[to] += link.capacity.value);
      }
      if (link.kind == LinkKind::fabric && cluster.devices()[from].kind == DeviceKind::leaf_switch) {
        most_up = std::max(most_up, up[from] += link.capacity.value);
      }
    }
    if (most_up > 0) {
      EXPECT_NEAR(most_down / most_up, request.oversubscription, 1e-9) << seed;
    }
  }
}

}  // namespace
}  // namespace stepcast
