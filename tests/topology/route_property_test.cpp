#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <stdexcept>

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
  request.topology = pick(std::vector<std::string>{"single-switch", "leaf-spine", "fat-tree",
                                                   "rail-optimized", "rail-only", "dragonfly+", "torus"});
  if (request.topology == "torus") {
    request.torus = {1 + up_to(4), 1 + up_to(3), 1 + up_to(2)};
    request.nodes = request.torus[0] * request.torus[1] * request.torus[2];
  }
  request.dragonfly_group = up_to(3);
  request.dragonfly_links = up_to(5);
  request.core_oversubscription = 1 + up_to(2);
  request.routing_seed = random();
  request.fabric.flows_per_connection = 1 + up_to(3);
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

/// What enters a device less what leaves it, by device.
std::map<int, double> surplus(const Cluster& cluster, const std::vector<FlowShare>& shares) {
  std::map<int, double> sum;
  for (const FlowShare& share : shares) {
    const Link& link = cluster.links()[static_cast<std::size_t>(share.link)];
    sum[link.from] -= share.share;
    sum[link.to] += share.share;
  }
  return sum;
}

// Whatever the network: all bytes leave the one card, reach the other one, and none stays in a switch.
TEST(RandomClusters, FlowsAreKeptAtEverySwitchAndTouchNoDeadLink) {
  int dead_links = 0, parted = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    ClusterRequest request = random_request(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(request));
    const auto below = [&](std::size_t count) { return static_cast<int>(random() % count); };
    {
      const Cluster whole(request);
      for (int i = 0; i < 6; ++i) {  // damage some links between switches
        const Link& link = whole.links()[static_cast<std::size_t>(below(whole.links().size()))];
        if (link.kind != LinkKind::fabric) continue;
        request.faults.push_back({whole.devices()[static_cast<std::size_t>(link.from)].name + " - " +
                                      whole.devices()[static_cast<std::size_t>(link.to)].name,
                                  below(2) / 2.0});
      }
    }
    const Cluster cluster(request);
    for (const Link& link : cluster.links())
      dead_links += link.kind == LinkKind::fabric && link.capacity.value == 0 ? 1 : 0;
    for (int i = 0; i < 20 && cluster.nics_per_node() > 0; ++i) {
      const int node = below(static_cast<std::size_t>(cluster.node_count()));
      const int peer = below(static_cast<std::size_t>(cluster.node_count()));
      const int nic = below(static_cast<std::size_t>(cluster.nics_per_node()));
      const int peer_nic = below(static_cast<std::size_t>(cluster.nics_per_node()));
      if (node == peer) continue;
      if (!cluster.connected(node, nic, peer, peer_nic)) {
        ASSERT_THROW((void)cluster.fabric_flow(node, nic, peer, peer_nic), std::invalid_argument);
        continue;
      }
      const std::vector<FlowShare> shares = cluster.fabric_flow(node, nic, peer, peer_nic);
      for (const FlowShare& share : shares) {
        ASSERT_GT(share.share, 0);
        ASSERT_LE(share.share, 1 + 1e-9);
        ASSERT_GT(cluster.links()[static_cast<std::size_t>(share.link)].capacity.value, 0);
        parted += share.share < 0.999 ? 1 : 0;
      }
      for (const auto& [device, left] : surplus(cluster, shares)) {
        const double expected = device == cluster.nic_device(node, nic)        ? -1
                                : device == cluster.nic_device(peer, peer_nic) ? 1
                                                                               : 0;
        ASSERT_NEAR(left, expected, 1e-9) << cluster.devices()[static_cast<std::size_t>(device)].name;
      }
    }
  }
  EXPECT_GT(dead_links, 50);  // the property was put to the test
  EXPECT_GT(parted, 1000);
}

// All downlinks of a full leaf over all its uplinks is the oversubscription, whatever the routing.
TEST(RandomClusters, UplinksOfTheFullestLeafHaveTheAskedRatio) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const ClusterRequest request = random_request(random);
    if (request.topology == "torus") continue;  // has no leaves
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
