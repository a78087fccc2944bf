#include "read.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Four GPUs in two NVLink pairs on two NUMA nodes; a card PIX to the first pair, one NODE to the second.
const std::string pairs = R"(some prompt$ nvidia-smi topo -m
	GPU0	GPU1	GPU2	GPU3	NIC0	NIC1	CPU Affinity	NUMA Affinity	GPU NUMA ID
GPU0	 X 	NV4	SYS	SYS	PIX	SYS	0-15	0		N/A
GPU1	NV4	 X 	SYS	SYS	PIX	SYS	0-15	0		N/A
GPU2	SYS	SYS	 X 	NV4	SYS	NODE	16-31	1		N/A
GPU3	SYS	SYS	NV4	 X 	SYS	NODE	16-31	1		N/A
NIC0	PIX	PIX	SYS	SYS	 X 	SYS
NIC1	SYS	SYS	NODE	NODE	SYS	 X

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_3
  NIC1: mlx5_8
)";

const std::vector<ImportSetting> answers{{"gpu", "rtx-a6000"},
                                         {"nic.rate", "200 Gb/s"},
                                         {"host.memory_rate", "100 GB/s"},
                                         {"host.socket_rate", "20 GB/s"},
                                         {"host.cpu", "amd"}};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(SmiImport, TheTableBecomesATreeWithNvlinkPairs) {
  const TopologyImport import = read_topology(pairs, answers);
  ASSERT_TRUE(import.questions.empty());
  const NodeSpec node = parse_node(import.toml, "node.toml");
  EXPECT_EQ(node.gpus, 4);
  EXPECT_EQ(node.nvlink, NodeSpec::Nvlink::mesh);
  // NV4 of an RTX A6000: 4 x 14.0625 GB/s.
  EXPECT_EQ(wire_between(node, "gpu0", "gpu1")->rate, gigabytes_per_second(56.25));
  EXPECT_EQ(wire_between(node, "gpu0", "gpu1")->links, 4);
  EXPECT_EQ(wire_between(node, "gpu1", "gpu2"), nullptr);
  EXPECT_NE(wire_between(node, "nic0", "pcie0"), nullptr);
  EXPECT_NE(wire_between(node, "gpu1", "pcie0"), nullptr);
  EXPECT_NE(wire_between(node, "nic1", "host1"), nullptr);
  EXPECT_NE(wire_between(node, "gpu3", "host1"), nullptr);
  EXPECT_EQ(wire_between(node, "host0", "host1")->rate, gigabytes_per_second(20));
  EXPECT_THAT(node.nic_rates, ElementsAre(gigabits_per_second(200), gigabits_per_second(200)));
  EXPECT_TRUE(node.pcie_peer_to_peer);
  EXPECT_THAT(import.toml, HasSubstr("# nic0: mlx5_3."));
  EXPECT_THAT(import.toml, HasSubstr("shipped node pcie-rtx-a6000"));
}

TEST(SmiImport, WhatTheTableCannotTellIsAskedForByKey) {
  EXPECT_THAT(keys_of(read_topology(pairs)),
              ElementsAre("gpu", "host.cpu", "host.memory_rate", "host.socket_rate", "nic.rate"));
  EXPECT_TRUE(read_topology(pairs).toml.empty());
  // A profile of which nothing more is known: its figures are asked for, too.
  auto mystery = answers;
  mystery.front().text = "mystery";
  EXPECT_THAT(keys_of(read_topology(pairs, mystery)),
              ElementsAre("nic.gpudirect", "nvlink.rate_per_link", "pcie.peer_to_peer", "pcie.rate"));
  EXPECT_EQ(complete_by_examples(pairs).gpus, 4);
}

TEST(SmiImport, LooksDoNotMatter) {
  const std::string plain = read_topology(pairs, answers).toml;
  std::string spaces = pairs;
  for (std::size_t at; (at = spaces.find('\t')) != std::string::npos;) spaces.replace(at, 1, "   ");
  EXPECT_EQ(read_topology(spaces, answers).toml, plain);
  std::string windows = pairs;
  for (std::size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; at += 2)
    windows.replace(at, 1, "\r\n");
  EXPECT_EQ(read_topology("\xef\xbb\xbf" + windows, answers).toml, plain);
  EXPECT_EQ(read_topology(replaced(pairs, "\tGPU0", "\x1b[4m\tGPU0\x1b[0m"), answers).toml, plain);
  EXPECT_EQ(read_topology(replaced(pairs, "\tGPU0", "GPU0"), answers).toml, plain);
  EXPECT_EQ(read_topology(replaced(pairs, "NIC1\tSYS\tSYS\tNODE\tNODE\tSYS\t X", ""), answers).summary,
            read_topology(pairs, answers).summary);
}

TEST(SmiImport, RowsArePlacedByTheirLabels) {
  const std::string row = "GPU0\t X \tNV4\tSYS\tSYS\tPIX\tSYS\t0-15\t0\t\tN/A\n";
  const std::string moved = replaced(pairs, row, "");
  const std::string last = "NIC0\tPIX";
  EXPECT_EQ(read_topology(replaced(moved, last, row + last), answers).toml,
            read_topology(pairs, answers).toml);
}

TEST(SmiImport, AMissingRowIsCompletedBySymmetryAndSaid) {
  const TopologyImport import =
      read_topology(replaced(pairs, "GPU0\t X \tNV4\tSYS\tSYS\tPIX\tSYS\t0-15\t0\t\tN/A\n", ""), answers);
  EXPECT_THAT(import.notes, ElementsAre(HasSubstr("the rows of GPU0 are missing")));
  EXPECT_NE(wire_between(parse_node(import.toml, "n.toml"), "gpu0", "pcie0"), nullptr);
}

TEST(SmiImport, ACutTableSaysWhichRowsAreMissing) {
  const std::string cut = pairs.substr(0, pairs.find("GPU2\tSYS"));
  const Diagnostic fault = fault_in(cut);
  EXPECT_THAT(fault.message, HasSubstr("the rows of GPU2, GPU3, NIC0, NIC1 are missing"));
  EXPECT_EQ(fault.place.line, 2U);
  const Diagnostic torn = fault_in(pairs.substr(0, pairs.find("NODE\t16-31")));
  EXPECT_THAT(torn.message, HasSubstr("the row GPU2 has 5 entries, but the header has 6 columns"));
  EXPECT_EQ(torn.place.line, 5U);
}

TEST(SmiImport, EntriesThatContradictEachOtherAreFaultsWithTheirPlace) {
  const Diagnostic fault = fault_in(replaced(pairs, "GPU1\tNV4", "GPU1\tNV2"));
  EXPECT_THAT(fault.message, HasSubstr("GPU0 and GPU1 are NV2 here, but NV4 in line 3"));
  EXPECT_EQ(fault.place.line, 4U);
  EXPECT_EQ(fault.place.column, 6U);
  EXPECT_THAT(fault_in(replaced(pairs, "GPU1\tNV4", "GPU1\tNVX")).message,
              HasSubstr("\"NVX\" is no relation"));
  EXPECT_THAT(fault_in(replaced(pairs, "GPU1\tNV4", "GPU1\t X")).message,
              HasSubstr("stands where the row GPU1 crosses"));
  EXPECT_THAT(fault_in(pairs + pairs).message, HasSubstr("a second table begins here"));
}

std::string all_equal(int gpus, const std::string& entry) {
  std::string text = "  ";
  for (int i = 0; i < gpus; ++i) text += " GPU" + std::to_string(i);
  for (int i = 0; i < gpus; ++i) {
    text += "\nGPU" + std::to_string(i);
    for (int j = 0; j < gpus; ++j) text += " " + (i == j ? std::string("X") : entry);
  }
  return text + "\n";
}

TEST(SmiImport, EqualLinksAreASwitchWhereAGpuHasTooFewForCables) {
  const auto nvlink = [](int gpus, const std::string& entry, const std::string& gpu) {
    return complete_by_examples(all_equal(gpus, entry), {{"gpu", gpu}}).nvlink;
  };
  // 3 x 4 = 12 links: cables on an A100, which has 12. 3 x 12 are more than it has.
  EXPECT_EQ(nvlink(4, "NV4", "a100-sxm-80g"), NodeSpec::Nvlink::mesh);
  EXPECT_EQ(nvlink(4, "NV12", "a100-sxm-80g"), NodeSpec::Nvlink::fabric_switch);
  EXPECT_EQ(nvlink(8, "NV18", "h100-sxm"), NodeSpec::Nvlink::fabric_switch);
  EXPECT_EQ(nvlink(16, "NV6", "v100-sxm3-32g"), NodeSpec::Nvlink::fabric_switch);
  // NV6 between four GPUs: cables on an H100 (18 links), a switch on a V100 (6).
  EXPECT_EQ(nvlink(4, "NV6", "h100-sxm"), NodeSpec::Nvlink::mesh);
  EXPECT_EQ(nvlink(4, "NV6", "v100-sxm3-32g"), NodeSpec::Nvlink::fabric_switch);
  // Unknown links per GPU: asked for, and the answer is followed.
  EXPECT_THAT(keys_of(read_topology(all_equal(4, "NV4"), {{"gpu", "mystery"}})),
              testing::Contains("nvlink.kind"));
  EXPECT_EQ(
      complete_by_examples(all_equal(4, "NV4"), {{"gpu", "a100-sxm-80g"}, {"nvlink.kind", "switch"}}).nvlink,
      NodeSpec::Nvlink::fabric_switch);
}

TEST(SmiImport, BeneathPxbEachSwitchStandsUnderACommonOne) {
  const NodeSpec node = complete_by_examples(R"(
      GPU0 GPU1 NIC0 NIC1 CPU Affinity
GPU0  X    PXB  PIX  PXB  0-7
GPU1  PXB  X    PXB  PIX  0-7
NIC0  PIX  PXB  X    PXB
NIC1  PXB  PIX  PXB  X
)");
  EXPECT_NE(wire_between(node, "pcie0", "host0"), nullptr);
  EXPECT_NE(wire_between(node, "gpu0", "pcie1"), nullptr);
  EXPECT_NE(wire_between(node, "nic0", "pcie1"), nullptr);
  EXPECT_NE(wire_between(node, "nic1", "pcie2"), nullptr);
  EXPECT_NE(wire_between(node, "pcie1", "pcie0"), nullptr);
}

TEST(SmiImport, WhatIsNoTableIsRefused) {
  EXPECT_THAT(fault_in("").message, HasSubstr("the file is empty"));
  EXPECT_THAT(fault_in(" \n\t\n").message, HasSubstr("the file is empty"));
  EXPECT_THAT(fault_in(std::string("\x7f"
                                   "ELF\0\0",
                                   6))
                  .message,
              HasSubstr("no text"));
  EXPECT_THAT(fault_in("hello world\n").message, HasSubstr("can't be told"));
  EXPECT_THAT(fault_in("  NIC0 NIC1\nNIC0 X PIX\nNIC1 PIX X\n").message, HasSubstr("can't be told"));
  EXPECT_THAT(fault_in("BlockName=b1 Nodes=n[1-4]\n").message, HasSubstr("block plugin"));
  EXPECT_THAT(fault_in("CA 'mlx5_0'\n\tCA type: MT4129\n").message, HasSubstr("ibstat"));
}

TEST(SmiImport, SettingsAreChecked) {
  EXPECT_THAT(fault_in(pairs, {{"nic.rat", "1 Gb/s"}}).hint, HasSubstr("nic.rate"));
  EXPECT_THAT(fault_in(pairs, {{"nic.rate", "fast"}}).message, HasSubstr("no rate"));
  EXPECT_THAT(fault_in(pairs, {{"gpu", "h100-smx"}}).hint, HasSubstr("h100-sxm"));
  EXPECT_THAT(fault_in(pairs, {{"nvlink.pairs", "[[0, 9, 1]]"}}).message, HasSubstr("no list of"));
  const auto given = [&] {
    auto more = answers;
    more.push_back({"nvlink.pairs", "[[0, 2, 4], [1, 3, 4]]"});
    return parse_node(read_topology(pairs, more).toml, "n.toml");
  }();
  EXPECT_EQ(wire_between(given, "gpu0", "gpu1"), nullptr);
  EXPECT_NE(wire_between(given, "gpu1", "gpu3"), nullptr);
}

}  // namespace
}  // namespace stepcast
