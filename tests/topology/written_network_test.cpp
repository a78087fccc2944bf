#include "topology/written_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/topology/cluster_fixture.hpp"
#include "tests/topology/temporary_file.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

const std::string head = R"(transport = "infiniband"
[link]
rate = "400 Gb/s"
efficiency = 0.96
latency = "1.5 us"
[switch]
latency = "0.13 us"
[graph]
)";

ClusterRequest written(const std::string& graph, int nodes, int nics, const std::string& routing) {
  const TemporaryFile file(head + graph);
  ClusterRequest request = request_of(nodes, "hgx-h100", "infiniband-400g");
  request.fabric = load_fabric(file.path(), {});
  request.fabric.nics_per_node = nics;
  request.topology = "graph";
  request.routing = routing;
  return request;
}

// Four nodes of two cards, two nodes on a leaf of four cards, four spines, as leaf-spine builds them.
TEST(WrittenNetwork, IsTheBuiltOneWhenItSaysTheSame) {
  const std::string text = R"(switches = ["leaf0", "leaf1", "spine0", "spine1", "spine2", "spine3"]
links = [["leaf0", "spine0", "400 Gb/s"], ["leaf0", "spine1", "400 Gb/s"], ["leaf0", "spine2", "400 Gb/s"],
         ["leaf0", "spine3", "400 Gb/s"], ["leaf1", "spine0", "400 Gb/s"], ["leaf1", "spine1", "400 Gb/s"],
         ["leaf1", "spine2", "400 Gb/s"], ["leaf1", "spine3", "400 Gb/s"]]
nics = [["node[0-1].nic*", "leaf0"], ["node2.nic0", "leaf1"], ["node2.nic1", "leaf1"], ["node3.nic[0-1]", "leaf1"]]
)";
  for (const char* routing : {"ecmp", "static"}) {
    const Cluster own(written(text, 4, 2, routing));
    ClusterRequest request = own.request();
    request.topology = "leaf-spine";
    request.fabric.leaf_ports = 8;
    const Cluster built(request);
    ASSERT_EQ(own.links().size(), built.links().size());
    for (std::size_t i = 0; i < own.links().size(); ++i) {
      EXPECT_EQ(own.link_name(static_cast<int>(i)), built.link_name(static_cast<int>(i)));
      EXPECT_EQ(own.links()[i].capacity.value, built.links()[i].capacity.value);
      EXPECT_EQ(own.links()[i].latency.value, built.links()[i].latency.value);
    }
    for (int node = 0; node < 4; ++node)
      for (int peer = 0; peer < 4; ++peer)
        for (int nic = 0; nic < 2; ++nic)
          if (node != peer) {
            EXPECT_EQ(flow_of(own, node, nic, peer, 1), flow_of(built, node, nic, peer, 1));
          }
  }
}

// Over three spines of 400, 800 (two cables) and 400 Gb/s, the last of which has only 100 down to leaf1: the
// ways carry 400, 800 and 100 of 1,300.
TEST(WrittenNetwork, SpraysByWhatEachWayCanCarryToItsEnd) {
  const auto flow = flow_of(Cluster(written(R"(switches = ["leaf0", "leaf1", "a", "b", "c"]
links = [["leaf0", "a", "400 Gb/s"], ["leaf1", "a", "400 Gb/s"], ["leaf0", "b", "400 Gb/s", 2],
         ["b", "leaf1", "800 Gb/s"], ["leaf0", "c", "400 Gb/s"], ["c", "leaf1", "100 Gb/s"]]
nics = [["node0.nic*", "leaf0"], ["node1.nic*", "leaf1"]]
)",
                                            2, 1, "spray")),
                            0, 0, 1, 0);
  EXPECT_NEAR(flow.at("leaf0 -> a"), 4.0 / 13, 1e-12);
  EXPECT_NEAR(flow.at("leaf0 -> b"), 8.0 / 13, 1e-12);
  EXPECT_NEAR(flow.at("c -> leaf1"), 1.0 / 13, 1e-12);
}

TEST(WrittenNetwork, OnlyShortestWaysCarryAnything) {
  const auto flow = flow_of(Cluster(written(R"(switches = ["x", "y", "z"]
links = [["x", "y", "400 Gb/s"], ["y", "z", "400 Gb/s"], ["x", "z", "100 Gb/s"]]
nics = [["node0.nic*", "x"], ["node1.nic*", "y"], ["node2.nic*", "z"]]
)",
                                            3, 1, "spray")),
                            0, 0, 2, 0);
  EXPECT_EQ(flow.at("x -> z"), 1);
  EXPECT_EQ(flow.size(), 3U);
}

TEST(WrittenNetwork, CountsTheNodesThatItKnows) {
  EXPECT_EQ(written("switches = [\"s\"]\nnics = [[\"node[0-5].nic*\", \"s\"], [\"node7.nic0\", \"s\"]]\n", 1,
                    1, "spray")
                .fabric.graph->nodes,
            8);
}

TEST(WrittenNetwork, ACardThatHangsNowhereIsNamed) {
  const ClusterRequest request =
      written("switches = [\"s\"]\nnics = [[\"node*.nic0\", \"s\"]]\n", 2, 2, "spray");
  try {
    const Cluster cluster(request);
    FAIL() << "nic1 has no cable";
  } catch (const std::invalid_argument& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("node0.nic1 hangs on no switch"));
  }
}

TEST(WrittenNetwork, TellsAllFaultsEachWithItsPlace) {
  const TemporaryFile file(head + R"(switches = ["leaf0", "leaf1", "spine0", "leaf0"]
links = [["leaf0", "spine1", "400 Gb/s"],
         ["leaf0", "spine0", "fast"],
         ["leaf1", "leaf1", "400 Gb/s"],
         ["leaf1", "spine0", "400 Gb/s"],
         ["spine0", "leaf1", "400 Gb/s"],
         ["leaf1", "spine0", "400 Gb/s", 0],
         ["leaf1"]]
nics = [["node0.nic0", "leaf0"],
        ["node*.nic0", "leaf1"],
        ["host0", "leaf0"]]
cables = 3
)");
  const auto faults = faults_of([&] { return load_fabric(file.path(), {}); });
  const std::vector<std::pair<unsigned, std::string>> expected = {
      {9, "switch \"leaf0\" stands there twice"},
      {10, "graph.switches has no \"spine1\""},
      {11, "not a rate above zero: fast"},
      {12, "a link from \"leaf1\" to itself"},
      {14, "the link between \"spine0\" and \"leaf1\" stands there twice"},
      {15, "the number of cables must be 1 to 4096"},
      {16, "not understood"},
      {18, "a card of \"node*.nic0\" hangs on a switch already"},
      {19, "no card: \"host0\""},
      {20, "unknown key \"graph.cables\""}};
  ASSERT_EQ(faults.size(), expected.size());
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_EQ(faults[i].place.line, expected[i].first) << render(faults[i]);
    EXPECT_THAT(faults[i].message, HasSubstr(expected[i].second));
  }
  EXPECT_EQ(faults[1].hint, "did you mean \"spine0\"?");
}

}  // namespace
}  // namespace stepcast
