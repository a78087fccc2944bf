#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_file.hpp"
#include "topology/cluster.hpp"
#include "topology/node_graph.hpp"
#include "topology/node_toml.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

std::string node_file(const std::string& links, const std::string& more = "", int gpus = 4) {
  return "gpu = \"a100-sxm-80g\"\ngpus = " + std::to_string(gpus) + "\n[graph]\nlinks = [\n" + links +
         "\n]\n" + more + "\n[host]\nmemory_rate = \"200 GB/s\"\n";
}

/// Two GPUs with a card beneath one switch, two more GPUs and a card straight on the other socket.
const char* const lopsided = R"(
  ["gpu0", "pcie0", "31.5 GB/s"], ["gpu1", "pcie0", "31.5 GB/s"], ["nic0", "pcie0", "15.75 GB/s"],
  ["pcie0", "host0", "31.5 GB/s"], ["gpu2", "host1", "31.5 GB/s"], ["gpu3", "host1", "31.5 GB/s"],
  ["nic1", "host1", "31.5 GB/s"], ["host0", "host1", "20 GB/s"],
  ["gpu0", "gpu1", "50 GB/s"], ["gpu2", "gpu3", "100 GB/s"], ["gpu1", "gpu2", "25 GB/s"])";

std::string fault_of(const std::string& text) {
  const auto faults = faults_of([&] { return parse_node(text, "node.toml"); });
  return faults.empty() ? "" : faults.front().message;
}

TEST(NodeGraphFile, WiresAreLaidInBothDirectionsAndNamedAsInTheFile) {
  const NodeSpec node = parse_node(node_file(lopsided), "lopsided.toml");
  EXPECT_EQ(node.name, "lopsided");
  EXPECT_EQ(node.nvlink, NodeSpec::Nvlink::mesh);
  EXPECT_EQ(node.sockets, 2);
  EXPECT_EQ(node.nics_default, 2);
  FabricSpec fabric;
  fabric.transport = Transport::infiniband;
  const NodeWiring wiring = wire_node(node, 4, place_nics(node, 4, fabric));
  EXPECT_EQ(wiring.links.size(), 2U * 11);
  std::vector<std::string> names;
  for (const Device& device : wiring.devices) names.push_back(device.name);
  EXPECT_THAT(names, ElementsAre("gpu0", "gpu1", "gpu2", "gpu3", "pcie0", "host0", "host1", "nic0", "nic1"));
  EXPECT_THAT(wiring.gpu_socket, ElementsAre(0, 0, 1, 1));
  // Without a count, the slowest NVLink wire, 25 GB/s, is one link: 50 GB/s are two, 100 GB/s four.
  EXPECT_EQ(wiring.nvlinks[0 * 4 + 1], 2);
  EXPECT_EQ(wiring.nvlinks[2 * 4 + 3], 4);
  EXPECT_EQ(wiring.nvlinks[2 * 4 + 1], 1);
}

TEST(NodeGraphFile, OnlyCardsNearGpusInUseAreDriven) {
  const NodeSpec node = parse_node(node_file(lopsided), "node.toml");
  FabricSpec fabric;
  fabric.transport = Transport::infiniband;
  // GPUs 0 and 1 are beside nic0; nic1 is nearest to GPUs 2 and 3.
  const NodeWiring two = wire_node(node, 2, place_nics(node, 2, fabric));
  EXPECT_EQ(two.nics, 1);
  EXPECT_EQ(two.links.size(), 2U * 6);  // two GPUs, card and switch, the sockets, one NVLink wire
  EXPECT_EQ(wire_node(node, 3, place_nics(node, 3, fabric)).nics, 2);
  fabric.nics_per_node = 4;  // two in each card's place
  EXPECT_EQ(wire_node(node, 4, place_nics(node, 4, fabric)).nics, 4);
}

TEST(NodeGraphFile, ANestedSwitchIsNearerThanTheSameHost) {
  // nic1 is three switches away, nic0 behind the host: four hops either way.
  const NodeSpec node = parse_node(node_file(R"(
    ["gpu0", "pcie1", "32 GB/s"], ["pcie1", "pcie0", "32 GB/s"], ["pcie2", "pcie0", "32 GB/s"],
    ["nic1", "pcie2", "32 GB/s"], ["pcie0", "host0", "32 GB/s"], ["nic0", "host0", "32 GB/s"])",
                                             "", 1),
                                   "node.toml");
  FabricSpec fabric;
  fabric.transport = Transport::infiniband;
  const NodeGraph graph(node, 1, place_nics(node, 1, fabric));
  EXPECT_THAT(graph.nics_near(0), ElementsAre(1, 0));
  EXPECT_EQ(graph.path(0, graph.wiring().first_nic).size(), 4U);
  EXPECT_EQ(graph.path(0, graph.wiring().first_nic + 1).size(), 4U);
}

TEST(NodeGraphFile, ACableRunsAtTheRateOfItsSlowerEnd) {
  ClusterRequest request;
  request.nodes = 2;
  request.node = parse_node(node_file(lopsided, "nic_rates = [\"100 Gb/s\", \"400 Gb/s\"]\n"), "node.toml");
  request.gpus_per_node = 4;
  request.fabric = load_fabric("infiniband-200g", {});
  const Cluster cluster(request);
  std::vector<double> rates;
  for (const Link& link : cluster.links())
    if (link.kind == LinkKind::nic && cluster.devices()[static_cast<std::size_t>(link.from)].node == 0)
      rates.push_back(link.capacity.value);
  // min(100, 200) and min(400, 200) Gb/s
  EXPECT_THAT(rates, ElementsAre(12.5e9, 25e9));
}

TEST(NodeGraphFile, GpusWithoutPeerAccessMeetInTheHost) {
  const NodeSpec node = parse_node(
      node_file(
          R"(["gpu0", "pcie0", "32 GB/s"], ["gpu1", "pcie0", "32 GB/s"], ["pcie0", "host0", "32 GB/s"])", "",
          2),
      "node.toml");
  const NodeGraph graph(node, 2, {});
  EXPECT_EQ(graph.path(0, 1).size(), 4U);  // gpu0, pcie0, host0, pcie0, gpu1
}

TEST(NodeGraphFile, EveryShippedNodeIsTheSameWrittenOutWireByWire) {
  const auto links_of = [](const NodeSpec& node) {
    FabricSpec fabric;
    fabric.transport = Transport::infiniband;
    const NodeWiring wiring =
        wire_node(node, node.gpus,
                  node.nics_default > 0 ? place_nics(node, node.gpus, fabric) : std::vector<NicPlace>{});
    std::vector<std::string> links;
    for (const Link& link : wiring.links) {
      const auto name = [&](int device) { return wiring.devices[static_cast<std::size_t>(device)].name; };
      links.push_back(name(link.from) + " -> " + name(link.to) + " " + std::string(name_of(link.kind)) + " " +
                      exact_rate(link.capacity));
    }
    return links;
  };
  for (const std::string& preset : node_preset_names()) {
    const NodeSpec node = load_node(preset, {});
    if (node.host_device) continue;  // its "GPU" hangs on memory, for which [graph] has no wire
    NodeSources sources;
    sources.links = sources.memory_rate = sources.peer_to_peer = sources.gpudirect = sources.sharp =
        sources.cpu = preset;
    const NodeSpec written = parse_node(node_toml(node, sources), "node.toml");
    EXPECT_THAT(links_of(written), UnorderedElementsAreArray(links_of(node))) << preset;
    EXPECT_EQ(written.nvlink, node.nvlink) << preset;
    EXPECT_EQ(written.nvlink_sharp, node.nvlink_sharp) << preset;
    EXPECT_EQ(written.cpu, node.cpu) << preset;
    EXPECT_DOUBLE_EQ(written.pcie_rate.value, node.pcie_rate.value) << preset;
    EXPECT_DOUBLE_EQ(written.nvlink_rate_per_link.value, node.nvlink_rate_per_link.value) << preset;
  }
}

TEST(NodeGraphFile, FaultsNameTheLinkAndSayWhatFits) {
  const std::string sound = R"(["gpu0", "host0", "32 GB/s"])";
  const auto with = [&](const std::string& link) { return fault_of(node_file(sound + ", " + link, "", 1)); };
  EXPECT_EQ(fault_of(node_file(sound, "", 1)), "");
  EXPECT_THAT(with(R"(["gpu1", "host0", "32 GB/s"])"), HasSubstr("\"gpu1\" is not there: gpus is 1"));
  EXPECT_THAT(with(R"(["gpu0", "host0", "32 GB/s"])"), HasSubstr("gpu0 - host0 stands there twice"));
  EXPECT_THAT(with(R"(["gpu0", "gpu0", "32 GB/s"])"), HasSubstr("joins a device to itself"));
  EXPECT_THAT(with(R"(["gpu0", "nic0", "32 GB/s"])"), HasSubstr("joins a network card to a GPU"));
  EXPECT_THAT(with(R"(["host0", "nvswitch0", "32 GB/s"])"), HasSubstr("joins an NVSwitch to something else"));
  EXPECT_THAT(with(R"(["gpu0", "nvswitch1", "32 GB/s"])"), HasSubstr("there is only nvswitch0"));
  EXPECT_THAT(with(R"(["gpu0", "cpu0", "32 GB/s"])"), HasSubstr("\"cpu0\" is no device of a node"));
  EXPECT_THAT(with(R"(["pcie0", "host0", "fast"])"), HasSubstr("is no rate above zero"));
  EXPECT_THAT(with(R"(["pcie0", "host0"])"), HasSubstr("graph.links holds"));
  EXPECT_THAT(with(R"(["pcie1", "host0", "32 GB/s"])"), HasSubstr("names pcie1 but no pcie0"));
  EXPECT_THAT(with(R"(["nic0", "host1", "32 GB/s"])"), HasSubstr("nic0 cannot be reached"));
  EXPECT_THAT(with(R"(["pcie0", "host0", "32 GB/s", 2])"), HasSubstr("no number of NVLinks"));
  EXPECT_THAT(fault_of(node_file(sound, "", 2)), HasSubstr("no link of graph.links leads to gpu1"));
  EXPECT_THAT(fault_of(node_file(sound, "nic_rates = [\"1 Gb/s\"]", 1)),
              HasSubstr("lists 1 but graph.links names 0"));
  EXPECT_THAT(fault_of(node_file(sound, "sharp = true", 1)), HasSubstr("only for nodes with an NVSwitch"));
  EXPECT_THAT(fault_of(node_file(sound, "[pcie]\nrate = \"32 GB/s\"", 1)), HasSubstr("exclude each other"));
  EXPECT_THAT(fault_of(node_file(sound, "", 1) + "socket_rate = \"20 GB/s\"\n"),
              HasSubstr("exclude each other"));
}

}  // namespace
}  // namespace stepcast
