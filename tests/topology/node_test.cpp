#include "topology/node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/temporary_file.hpp"

namespace stepcast {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Diagnostic> faults_in(const std::string& text) {
  const TemporaryFile file(text);
  return faults_of([&] { return load_node(file.path(), {}); });
}

const char* const sound_node = R"(gpu = "v100-sxm2-16g"
gpus = 3
[nvlink]
kind = "mesh"
links_per_gpu = 6
rate_per_link = "25 GB/s"
pairs = [[0, 1, 2], [1, 2, 1]]
[pcie]
rate = { value = "15.75 GB/s", source = "PCI Express 3.0" }
[host]
sockets = 1
memory_rate = "76.8 GB/s"
[nic]
count = 1
near_gpu = [2]
gpudirect = true
)";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(NodePresets, AllThatTheDesignNamesLoad) {
  for (const char* name :
       {"dgx-1-v100-16g", "dgx-1-v100-32g", "dgx-2", "dgx-a100-40g", "dgx-a100-80g", "hgx-h100", "hgx-h200",
        "hgx-b200", "gb200-nvl72", "pcie-l4", "pcie-l40s", "pcie-a10", "pcie-a100-40g", "pcie-a100-80g",
        "pcie-rtx-4090", "pcie-h100", "cpu-host"}) {
    EXPECT_THAT(node_preset_names(), Contains(name));
    const NodeSpec node = load_node(name, {});
    EXPECT_EQ(node.name, name);
    EXPECT_GE(node.gpus, 1) << name;
    EXPECT_GT(node.pcie_rate.value, 0) << name;
    EXPECT_EQ(static_cast<int>(node.nic_gpu.size()), node.nics_default) << name;
  }
}

TEST(NodePresets, NameTheirGpuProfile) {
  EXPECT_EQ(load_node("dgx-2", {}).gpu, "v100-sxm3-32g");
  EXPECT_EQ(load_node("hgx-h100", {}).gpu, "h100-sxm");
  EXPECT_EQ(load_node("pcie-a100-80g", {}).gpu, "a100-pcie-80g");
  EXPECT_EQ(load_node("gb200-nvl72", {}).gpu, "gb200");
}

// 18 links of 25 GB/s are the 450 GB/s per direction (900 in both) of the datasheet.
TEST(NodePresets, H100HasEighteenLinksOf25GigabytesPerSecond) {
  const NodeSpec node = load_node("hgx-h100", {});
  EXPECT_EQ(node.nvlink, NodeSpec::Nvlink::fabric_switch);
  EXPECT_DOUBLE_EQ(node.nvlink_links_per_gpu * node.nvlink_rate_per_link.value, 450e9);
  EXPECT_TRUE(node.nvlink_sharp);
  EXPECT_TRUE(node.gpudirect);
}

TEST(NodePresets, AGeForceHasNeitherPeerAccessNorGpudirect) {
  const NodeSpec node = load_node("pcie-rtx-4090", {});
  EXPECT_FALSE(node.pcie_peer_to_peer);
  EXPECT_FALSE(node.gpudirect);
}

TEST(NodePresets, CpuHostIsOneDevicePerNode) {
  const NodeSpec node = load_node("cpu-host", {});
  EXPECT_TRUE(node.host_device);
  EXPECT_EQ(node.gpus, 1);
}

TEST(LoadNode, SuggestsTheNearestPreset) {
  const SourcePlace place{"scenario.toml", 7, 8, 1, ""};
  const auto faults = faults_of([&] { return load_node("hgx-h10", place); });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "unknown node \"hgx-h10\"");
  EXPECT_EQ(faults[0].place.line, 7U);
  EXPECT_THAT(faults[0].hint, HasSubstr("hgx-h100"));
}

TEST(LoadNode, AMissingFileIsAFaultAtThePlaceThatNamesIt) {
  const SourcePlace place{"scenario.toml", 7, 8, 1, ""};
  const auto faults = faults_of([&] { return load_node("no/such/node.toml", place); });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].place.file, "scenario.toml");
  EXPECT_THAT(faults[0].message, HasSubstr("no/such/node.toml"));
}

TEST(LoadNode, ReadsPlainFiguresAndThoseWithASource) {
  const TemporaryFile file(sound_node);
  const NodeSpec node = load_node(file.path(), {});
  EXPECT_DOUBLE_EQ(node.pcie_rate.value, 15.75e9);
  ASSERT_EQ(node.nvlink_mesh.size(), 2U);
  EXPECT_EQ(node.nvlink_mesh[0].links, 2);
  EXPECT_THAT(node.nic_gpu, ElementsAre(2));
  EXPECT_EQ(node.sockets, 1);
}

// GPU 2 has no NVLink here, and without [pcie] nothing else leads to it (nor to the host).
TEST(LoadNode, AGpuThatNoWireReachesIsAFaultWithPlaceAndHint) {
  const std::string text =
      replaced(replaced(sound_node, ", [1, 2, 1]", ""),
               "[pcie]\nrate = { value = \"15.75 GB/s\", source = \"PCI Express 3.0\" }\n", "");
  const auto faults = faults_in(text);
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_THAT(faults[0].message, HasSubstr("[pcie] rate is missing"));
  EXPECT_THAT(faults[1].message, HasSubstr("GPU 2 cannot be reached"));
  EXPECT_EQ(faults[1].place.line, 7U);
  EXPECT_EQ(faults[1].place.column, 9U);
  EXPECT_THAT(faults[1].hint, HasSubstr("nvlink.pairs"));
}

TEST(LoadNode, AWireThatCannotBeReadIsNotCalledUnreachableToo) {
  const std::string text =
      replaced(replaced(sound_node, "\"25 GB/s\"", "\"25\""),
               "[pcie]\nrate = { value = \"15.75 GB/s\", source = \"PCI Express 3.0\" }\n", "");
  const auto faults = faults_in(text);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("nvlink.rate_per_link is \"25\""));
}

TEST(LoadNode, APairOutOfRangeIsAFaultAtThatPair) {
  const auto faults = faults_in(replaced(sound_node, "[1, 2, 1]", "[1, 3, 1]"));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("names a GPU that is not there"));
  EXPECT_EQ(faults[0].place.line, 7U);
  EXPECT_EQ(faults[0].place.column, 21U);
  EXPECT_THAT(faults[0].hint, HasSubstr("0 to 2"));
}

TEST(LoadNode, APairGivenTwiceIsAFault) {
  const auto faults = faults_in(replaced(sound_node, "[1, 2, 1]", "[1, 2, 1], [1, 0, 1]"));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("twice"));
}

TEST(LoadNode, MoreLinksThanAGpuHasIsAFault) {
  const auto faults = faults_in(replaced(sound_node, "[1, 2, 1]", "[1, 2, 5]"));  // GPU 1: 2 + 5 = 7 of 6
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("gives GPU 1 7 links"));
  EXPECT_EQ(faults[0].place.line, 5U);
}

TEST(LoadNode, ANicBesideAGpuThatIsNotThereIsAFault) {
  const auto faults = faults_in(replaced(sound_node, "near_gpu = [2]", "near_gpu = [3]"));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "nic.near_gpu holds 3");
  EXPECT_EQ(faults[0].hint, "expected whole numbers 0 to 2");
  EXPECT_EQ(faults[0].place.line, 15U);
}

TEST(LoadNode, ANicCountThatDiffersFromItsListIsAFault) {
  const auto faults = faults_in(replaced(sound_node, "count = 1", "count = 2"));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "nic.count is 2, but nic.near_gpu lists 1");
}

TEST(LoadNode, AFigureTableNeedsItsSource) {
  const auto faults = faults_in(replaced(sound_node, ", source = \"PCI Express 3.0\"", ""));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "pcie.rate.source is missing");
}

TEST(LoadNode, TwoSocketsNeedTheRateBetweenThem) {
  const auto faults = faults_in(replaced(sound_node, "sockets = 1", "sockets = 2"));
  ASSERT_GE(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "host.socket_rate is missing");
}

TEST(LoadNode, AllFaultsOfAFileAreReportedAtOnce) {
  std::string text = replaced(sound_node, "gpus = 3", "gpus = -3\ngpu_count = 8");
  text = replaced(text, "\"25 GB/s\"", "25");
  text = replaced(text, "kind = \"mesh\"", "kind = \"mash\"");
  const auto faults = faults_in(text);
  std::vector<std::string> messages;
  for (const Diagnostic& fault : faults) {
    messages.push_back(fault.message);
    EXPECT_GT(fault.place.line, 0U) << fault.message;
  }
  EXPECT_THAT(messages, Contains(HasSubstr("gpus is -3")));
  EXPECT_THAT(messages, Contains(HasSubstr("unknown key \"gpu_count\"")));
  EXPECT_THAT(messages, Contains(HasSubstr("nvlink.rate_per_link is a bare number")));
  EXPECT_THAT(messages, Contains(HasSubstr("nvlink.kind is \"mash\"")));
}

}  // namespace
}  // namespace stepcast
