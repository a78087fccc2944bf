#include "topology/picture/picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../cluster_fixture.hpp"
#include "../temporary_file.hpp"
#include "base/document.hpp"
#include "topology/node_tree.hpp"
#include "topology/picture/network_levels.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

WireEnd gpu(int index) { return {WireEnd::Kind::gpu, index}; }
WireEnd nic(int index) { return {WireEnd::Kind::nic, index}; }

TEST(NodeTree, RelationsAreThoseOfNvidiaSmi) {
  const NodeTree dgx(load_node("dgx-1-v100-16g", {}));
  EXPECT_EQ(dgx.relation(gpu(0), gpu(0)), "X");
  EXPECT_EQ(dgx.relation(gpu(0), gpu(3)), "NV2");
  EXPECT_EQ(dgx.relation(gpu(0), gpu(5)), "SYS");
  EXPECT_EQ(dgx.relation(gpu(1), nic(0)), "PIX");  // one switch with two GPUs and a port
  EXPECT_EQ(dgx.relation(gpu(1), nic(1)), "PHB");
  EXPECT_EQ(NodeTree(load_node("hgx-h100", {})).relation(gpu(0), gpu(7)), "NV18");
  const NodeSpec nested = parse_node(R"(gpu = "l40s"
gpus = 1
[graph]
links = [["gpu0", "pcie1", "32 GB/s"], ["pcie1", "pcie0", "32 GB/s"], ["nic0", "pcie0", "32 GB/s"], ["pcie0", "host0", "32 GB/s"]]
[host]
memory_rate = "1 GB/s"
)",
                                     "nested.toml");
  EXPECT_EQ(NodeTree(nested).relation(gpu(0), nic(0)), "PXB");
  EXPECT_EQ(NodeTree(nested).way_up(gpu(0)).size(), 4U);
}

TEST(NodePicture, TextShowsTreeLinksAndTable) {
  const std::string text = node_text(load_node("dgx-1-v100-16g", {}));
  EXPECT_THAT(text, HasSubstr("8 GPUs (v100-sxm2-16g), NVLink between pairs, 4 network cards, 2 sockets"));
  EXPECT_THAT(text,
              HasSubstr("host0  intel, memory 76.8 GB/s\n|-- pcie0  15.8 GB/s\n|   |-- gpu0  15.8 GB/s"));
  EXPECT_THAT(text, HasSubstr("38.4 GB/s: host0 - host1"));
  EXPECT_THAT(text, HasSubstr("50.0 GB/s (2 links): gpu0 - gpu3, gpu0 - gpu4"));
  EXPECT_THAT(text,
              HasSubstr("GPU0  X     NV1   NV1   NV2   NV2   SYS   SYS   SYS   PIX   PHB   SYS   SYS\n"));
  // A rack's table would be 144 columns wide.
  EXPECT_THAT(node_text(load_node("gb200-nvl72", {})), Not(HasSubstr("GPU71")));
}

TEST(NodePicture, ADrawingHasABoxForEveryDeviceAndALineForEveryWire) {
  const std::string dot = node_dot(load_node("hgx-h100", {}));
  // 8 GPUs and 8 cards beneath 8 switches on 2 hosts, 8 NVLinks to the switch, one line between hosts.
  EXPECT_EQ(count_of(dot, " -- "), 8U + 8 + 8 + 8 + 1);
  for (const char* box : {"gpu7 [", "nic0 [", "pcie7 [", "host1 [", "nvswitch0 ["})
    EXPECT_THAT(dot, HasSubstr(box));
  EXPECT_THAT(dot, HasSubstr("18 links, 450 GB/s per GPU"));
  const std::string mesh = node_dot(load_node("dgx-1-v100-16g", {}));
  EXPECT_THAT(mesh, HasSubstr("NVLink, 1 link, 25.0 GB/s"));
  EXPECT_THAT(mesh, HasSubstr("NVLink, 2 links, 50.0 GB/s"));
}

TEST(NodePicture, HostsThatAreAlikeAreDrawnOnceInARack) {
  const std::string dot = node_dot(load_node("gb200-nvl72", {}));
  EXPECT_THAT(dot, HasSubstr("one of 36 hosts that are alike"));
  EXPECT_EQ(count_of(dot, "memory"), 1U);
}

TEST(NetworkPicture, LevelsCountSwitchesLinksAndOversubscription) {
  ClusterRequest request = request_of(8, "hgx-h100", "infiniband-400g");
  request.topology = "leaf-spine";
  request.routing = "ecmp";
  request.oversubscription = 2;
  const Cluster cluster(request);
  const NetworkLevels levels(cluster);
  // 64 cards on leaves of 32: two leaves; 32 / 2 uplinks each, to 16 spines.
  ASSERT_EQ(levels.switches.size(), 2U);
  EXPECT_EQ(levels.cards.count, 64);
  EXPECT_EQ(levels.switches[0].size(), 2U);
  EXPECT_EQ(levels.switches[1].size(), 16U);
  EXPECT_EQ(levels.up[0].count, 32);
  const std::string text = network_text(cluster);
  EXPECT_THAT(text, HasSubstr("8 nodes, 64 cards of 400 Gb/s each, 25600 Gb/s in all"));
  EXPECT_THAT(text, HasSubstr("level 1: 2 switches, leaf0, leaf1"));
  EXPECT_THAT(text, HasSubstr("32 links up, 400 Gb/s each, 12800 Gb/s in all"));
  EXPECT_THAT(text, HasSubstr("oversubscription 2 : 1"));
  EXPECT_THAT(network_dot(cluster), HasSubstr("node7 ["));
  // Each node hangs on one leaf: 8 lines; 32 between switches; the row that keeps the nodes in order.
  EXPECT_EQ(count_of(network_dot(cluster), " -- "), 8U + 32 + 7);
}

TEST(NetworkPicture, AGreatNetworkIsOneBoxForEachLevel) {
  ClusterRequest request = request_of(512, "hgx-h100", "infiniband-400g");
  request.topology = "leaf-spine";
  const std::string dot = network_dot(Cluster(request));
  EXPECT_THAT(dot, HasSubstr("512 nodes\\n4096 GPUs\\n4096 cards"));
  EXPECT_THAT(dot, HasSubstr("128 switches\\nleaf0 .. leaf127"));
  EXPECT_LT(dot.size(), 4000U);
}

TEST(NetworkPicture, SwitchesThatLeadNowhereAreCounted) {
  // Of four leaves one is used: the others, the spine and what is above it lead to none of its nodes.
  TemporaryFile file(R"(transport = "infiniband"
[link]
rate = "200 Gb/s"
efficiency = 0.9
latency = "2 us"
[graph]
switches = ["a", "b", "c", "d", "spine"]
links = [["a", "spine", "200 Gb/s"], ["b", "spine", "200 Gb/s"], ["c", "spine", "200 Gb/s"], ["d", "spine", "200 Gb/s"]]
nics = [["node[0-1].nic*", "a"], ["node[2-3].nic*", "b"], ["node[4-5].nic*", "c"], ["node[6-7].nic*", "d"]]
)");
  const auto text_of = [&](int nodes) {
    ClusterRequest request = request_of(nodes, "pcie-l40s", file.path());
    request.topology = "graph";
    return network_text(Cluster(request));
  };
  EXPECT_THAT(text_of(2), HasSubstr("4 further switches lead to none of these nodes"));
  EXPECT_THAT(text_of(2), Not(HasSubstr("level 2")));
  EXPECT_THAT(text_of(4), HasSubstr("level 1: 2 switches, a, b\n"));
  EXPECT_THAT(text_of(4), HasSubstr("level 2: 1 switch, spine\n  2 further switches"));
  EXPECT_THAT(text_of(8), Not(HasSubstr("further")));
}

TEST(TopologyJson, HoldsEveryDeviceAndLink) {
  const Value node = parse_json(node_json(load_node("hgx-h100", {})), "node.json");
  EXPECT_EQ(node.find("schema")->string, "stepcast.topology/1");
  EXPECT_EQ(node.find("devices")->array.size(), 8U + 1 + 8 + 2 + 8);
  EXPECT_EQ(node.find("links")->array.size(), 2U * (8 + 8 + 8 + 8 + 1));
  EXPECT_EQ(node.find("devices")->array[0].find("node")->kind, Value::Kind::null);
  const Cluster cluster(request_of(2, "hgx-h100", "infiniband-400g"));
  const Value all = parse_json(cluster_json(cluster, "two"), "two.json");
  EXPECT_EQ(all.find("devices")->array.size(), cluster.devices().size());
  EXPECT_EQ(all.find("links")->array.size(), cluster.links().size());
  EXPECT_EQ(all.find("links")->array.back().find("to")->string, "node1.nic7");
  EXPECT_DOUBLE_EQ(all.find("links")->array.back().find("rate_Bps")->real, 50e9);
}

}  // namespace
}  // namespace stepcast
