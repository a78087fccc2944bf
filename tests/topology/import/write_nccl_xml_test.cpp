#include "topology/import/write_nccl_xml.hpp"

#include "read.hpp"
#include "topology/node_toml.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

TEST(NcclXmlExport, ReadsBackAsTheSameMachine) {
  for (const char* preset :
       {"hgx-h100", "dgx-1-v100-16g", "dgx-a100-80g", "pcie-l40s", "gh200", "gb200-nvl72"}) {
    const NodeSpec node = load_node(preset, {});
    const FabricSpec fabric = load_fabric("infiniband-200g", {});
    const NodeSpec back = parse_node(read_topology(nccl_xml(node, 90, &fabric).xml,
                                                   {{"host.memory_rate", exact_rate(node.host_memory_rate)},
                                                    {"host.socket_rate", "100 GB/s"}})
                                         .toml,
                                     "back.toml");
    EXPECT_EQ(back.gpu, node.gpu) << preset;
    EXPECT_EQ(back.gpus, node.gpus) << preset;
    EXPECT_EQ(back.cpu, node.cpu) << preset;
    EXPECT_EQ(back.nvlink, node.nvlink) << preset;
    EXPECT_EQ(back.gpudirect, node.gpudirect) << preset;
    EXPECT_THAT(back.nic_rates, testing::Each(gigabits_per_second(200))) << preset;
    std::size_t wires = 0;
    for (const NodeWire& wire : wires_of(node)) {
      if (wire.is_between_sockets()) continue;
      ++wires;
      const NodeWire* same = wire_between(back, wire.first.name(), wire.second.name());
      ASSERT_NE(same, nullptr) << preset << ": " << wire.first.name() << " - " << wire.second.name();
      // The datasheets' rates are rounded to three digits, lanes to four.
      EXPECT_NEAR(same->rate / wire.rate, 1, 1e-3) << preset << ": " << wire.first.name();
      EXPECT_EQ(same->links, wire.links) << preset;
    }
    const auto of_back = std::count_if(back.wires.begin(), back.wires.end(),
                                       [](const NodeWire& wire) { return !wire.is_between_sockets(); });
    EXPECT_EQ(static_cast<std::size_t>(of_back), wires) << preset;
  }
}

TEST(NcclXmlExport, WhatTheFormatCannotSayIsSaid) {
  NodeSpec node = load_node("pcie-l40s", {});
  node.wires = wires_of(node);
  for (NodeWire& wire : node.wires)
    if (wire.second.kind == WireEnd::Kind::nic) wire.rate = gigabytes_per_second(20);
  const NcclXml written = nccl_xml(node, 89, nullptr);
  EXPECT_THAT(written.notes, testing::Contains(HasSubstr("20 GB/s of nic0 is the rate of no PCIe link")));
  EXPECT_THAT(written.notes, testing::Contains(HasSubstr("no rate between sockets")));
  EXPECT_THAT(written.xml, testing::Not(HasSubstr("speed=\"0\"")));
}

}  // namespace
}  // namespace stepcast
