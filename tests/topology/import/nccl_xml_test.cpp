#include "read.hpp"

namespace stepcast {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Written for these tests in the form of NCCL's dumps.
const std::string dump = R"(
<!-- a comment before the root -->
<system version="1">
  <cpu numaid="1" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
    <pci busid="0000:80:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:81:00.0" class="0x030200" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:d0:00.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:d1:00.0" count="9" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:82:00.0" class="0x020700" link_speed="16 GT/s" link_width="16">
        <nic>
          <net name="mlx5_1" dev="1" speed="100000" port="1" guid="0x1" gdr="1"/>
          <net name="mlx5_2" dev="2" speed="100000" port="2" guid="0x1" gdr="1"/>
        </nic>
      </pci>
    </pci>
    <nic>
      <net name="docker0" dev="3" speed="10000" gdr="0"/>
      <net name="veth12ab" dev="4" speed="10000" gdr="0"/>
    </nic>
  </cpu>
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
    <pci busid="0000:01:00.0" class="0x030200" device="0x2330" link_speed="" link_width="0">
      <gpu dev="0" sm="90" rank="0" gdr="1">
        <nvlink target="0000:d0:00.0" count="9" tclass="0x068000"/>
        <nvlink target="0000:d1:00.0" count="9" tclass="0x068000"/>
      </gpu>
    </pci>
    <pci busid="0000:02:00.0" class="0x060400" link_speed="16 GT/s" link_width="16"/>
    <pci busid="0000:03:00.0" class="0x010802" link_speed="16 GT/s" link_width="4"/>
    <pci busid="0000:04:00.0" class="0x030000" vendor="0x1a03" link_speed="5 GT/s" link_width="1"/>
    <nic>
      <net name="eth0" dev="0" speed="25000" gdr="1"/>
    </nic>
  </cpu>
</system>
)";
const std::vector<ImportSetting> host{{"host.memory_rate", "300 GB/s"}, {"host.socket_rate", "100 GB/s"}};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(NcclXmlImport, ADumpNeedsOnlyTheHostsFigures) {
  EXPECT_THAT(keys_of(read_topology(dump)), ElementsAre("host.memory_rate", "host.socket_rate"));
  const TopologyImport import = read_topology(dump, host);
  const NodeSpec node = parse_node(import.toml, "node.toml");
  EXPECT_EQ(node.gpu, "h100-sxm");
  EXPECT_EQ(node.cpu, "amd");
  EXPECT_EQ(node.nvlink, NodeSpec::Nvlink::fabric_switch);
  // Two switches are one: 9 + 9 links of 25 GB/s.
  EXPECT_EQ(wire_between(node, "gpu1", "nvswitch0")->rate, gigabytes_per_second(450));
  EXPECT_EQ(wire_between(node, "gpu1", "nvswitch0")->links, 18);
  // dev numbers the GPUs, numaid the hosts, whatever their order in the file.
  EXPECT_NE(wire_between(node, "gpu0", "host0"), nullptr);
  EXPECT_NE(wire_between(node, "pcie0", "host1"), nullptr);
  // No link_speed: the shipped node with an H100 says 63 GB/s. 16 lanes of 3938.5 MB/s are 63.02 GB/s.
  EXPECT_NEAR(wire_between(node, "gpu0", "host0")->rate.value, 63e9, 1e6);
  EXPECT_NEAR(wire_between(node, "gpu1", "pcie0")->rate.value, 63.02e9, 1e6);
  EXPECT_TRUE(node.gpudirect);
}

TEST(NcclXmlImport, PortsOfOneCardShareItsSlot) {
  const NodeSpec node = parse_node(read_topology(dump, host).toml, "node.toml");
  EXPECT_THAT(node.nic_rates,
              ElementsAre(gigabits_per_second(25), gigabits_per_second(100), gigabits_per_second(100)));
  EXPECT_NE(wire_between(node, "nic1", "pcie1"), nullptr);
  EXPECT_NE(wire_between(node, "nic2", "pcie1"), nullptr);
  EXPECT_NEAR(wire_between(node, "pcie1", "pcie0")->rate.value, 31.51e9, 1e6);
  // eth0 has no PCIe device: nothing but its line rate limits it.
  EXPECT_EQ(wire_between(node, "nic0", "host0")->rate, gigabits_per_second(25));
}

TEST(NcclXmlImport, WhatIsLeftOutIsSaid) {
  const std::vector<std::string> notes = read_topology(dump).notes;
  EXPECT_THAT(notes, Contains(HasSubstr("docker0, veth12ab")));
  EXPECT_THAT(notes, Contains(HasSubstr("0000:03:00.0 of class 0x010802")));
  EXPECT_THAT(notes, Contains(HasSubstr("display adapter 0000:04:00.0")));
  EXPECT_THAT(notes.size(), 3U);
}

TEST(NcclXmlImport, LinksBetweenGpusAreAMeshAndTheirEndsMustAgree) {
  const auto pair = [](const std::string& there, const std::string& back) {
    return R"(<system version="1"><cpu numaid="0"><pci busid="1" device="0x2230" class="0x030000" link_speed="16 GT/s" link_width="16">
<gpu dev="0" gdr="1"><nvlink target="2" count=")" +
           there + R"(" tclass="0x030000"/></gpu></pci>
<pci busid="2" device="0x2230" class="0x030000" link_speed="16 GT/s" link_width="16">
<gpu dev="1" gdr="1"><nvlink target="1" count=")" +
           back + R"(" tclass="0x030000"/><nvlink target="2" count="1" tclass="0x030200"/></gpu></pci>
</cpu></system>)";
  };
  const NodeSpec node = complete_by_examples(pair("4", "4"));
  EXPECT_EQ(node.nvlink, NodeSpec::Nvlink::mesh);
  EXPECT_EQ(wire_between(node, "gpu0", "gpu1")->rate, gigabytes_per_second(56.25));  // 4 x 14.0625
  EXPECT_THAT(read_topology(pair("4", "4")).notes, Contains(HasSubstr("lead to itself")));
  const Diagnostic fault = fault_in(pair("4", "2"));
  EXPECT_THAT(fault.message, HasSubstr("gpu0 says 4 NVLinks to gpu1, but that one says 2"));
  EXPECT_EQ(fault.place.line, 4U);
  EXPECT_THAT(fault_in(pair("0", "4")).message, HasSubstr("no number of NVLinks"));
}

// What clouds ship: no <gpu>, no <nic>.
const std::string bare = R"(<system version="1">
  <cpu numaid="0">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0002:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
    </pci>
  </cpu>
</system>)";

TEST(NcclXmlImport, AFileWithoutGpuElementsLeavesNvlinkOpen) {
  EXPECT_THAT(keys_of(read_topology(bare)),
              ElementsAre("gpu", "host.cpu", "host.memory_rate", "nic.rate", "nvlink.kind"));
  EXPECT_THAT(read_topology(bare).notes, ElementsAre(HasSubstr("numbered by their bus ids")));
  EXPECT_EQ(complete_by_examples(bare, {{"gpu", "a100-sxm-80g"}, {"nvlink.kind", "none"}}).nvlink,
            NodeSpec::Nvlink::none);
  const NodeSpec node = complete_by_examples(bare, {{"gpu", "a100-sxm-80g"}, {"nvlink.kind", "switch"}});
  EXPECT_EQ(wire_between(node, "gpu0", "nvswitch0")->links, 12);  // of the shipped node with this GPU
  // A GPU without NVLink is not asked about it.
  EXPECT_THAT(keys_of(read_topology(bare, {{"gpu", "l40s"}})),
              ElementsAre("host.cpu", "host.memory_rate", "nic.rate"));
}

TEST(NcclXmlImport, FaultsHavePlaces) {
  const Diagnostic cut = fault_in(dump.substr(0, dump.size() / 2));
  EXPECT_THAT(cut.message, HasSubstr("no sound XML"));
  EXPECT_GT(cut.place.line, 10U);
  const Diagnostic classless =
      fault_in("<system>\n<cpu><pci busid=\"1\"/>\n<pci busid=\"2\"/></cpu></system>");
  EXPECT_THAT(classless.message, HasSubstr("no class"));
  EXPECT_THAT(classless.message, HasSubstr("lines 2, 3"));
  EXPECT_EQ(classless.place.line, 2U);
  EXPECT_EQ(classless.place.column, 6U);
  EXPECT_THAT(fault_in("<html/>").message, HasSubstr("no <system>"));
  EXPECT_THAT(fault_in("<system version=\"1\"></system>").message, HasSubstr("no GPU"));
  EXPECT_THAT(fault_in(replaced(dump, "dev=\"1\" sm", "dev=\"0\" sm")).message,
              HasSubstr("two GPUs have dev 0"));
  EXPECT_THAT(fault_in(replaced(dump, "0000:81:00.0", "0000:01:00.0")).message,
              HasSubstr("stands there twice"));
}

TEST(NcclXmlImport, GivenFiguresOverruleThoseOfTheFile) {
  auto settings = host;
  settings.push_back({"pcie.rate", "50 GB/s"});
  settings.push_back({"nic.rate", "200 Gb/s"});
  const NodeSpec node = parse_node(read_topology(dump, settings).toml, "node.toml");
  EXPECT_EQ(wire_between(node, "gpu1", "pcie0")->rate, gigabytes_per_second(50));
  EXPECT_THAT(node.nic_rates, testing::Each(gigabits_per_second(200)));
}

}  // namespace
}  // namespace stepcast
