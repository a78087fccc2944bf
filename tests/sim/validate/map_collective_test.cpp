#include "sim/validate/map_collective.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/fabric.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Cells = std::initializer_list<std::pair<std::string, std::string>>;

/// Two nodes of eight H100 with eight NDR cards; `changes` replaces cells.
MeasuredRow row_of(Cells changes) {
  MeasuredRow row;
  row.file = "c.csv";
  row.line = 3;
  row.cells = {{"set_id", "mine"},
               {"source", "me"},
               {"gpu", "H100-SXM5-80GB"},
               {"nodes", "2"},
               {"gpus_per_node", "8"},
               {"intra_link", "NVSwitch(NVLink4)"},
               {"inter_network", "InfiniBand NDR"},
               {"nics_per_node", "8"},
               {"nic_gbps", "400"},
               {"transport", "ib"},
               {"collective", "all_reduce"},
               {"dtype", "float32"},
               {"bytes", "1048576"},
               {"time_us", "100"},
               {"in_place", "0"}};
  for (const auto& [column, text] : changes) row.cells[column] = text;
  return row;
}

MappedCollective mapped(Cells changes = {}) {
  return map_collective(row_of(changes), shipped_collective_rules());
}

std::string reason(Cells changes) {
  try {
    (void)mapped(changes);
  } catch (const SkippedRow& skipped) {
    return skipped.reason;
  }
  return "not skipped";
}

std::string cluster(const MappedCollective& row, const char* key) {
  const Value* value = row.scenario.find("cluster")->find(key);
  return value == nullptr ? "" : value->to_text();
}

TEST(MapCollective, ARowThatSaysAllAssumesNothing) {
  const MappedCollective row = mapped();
  EXPECT_THAT(row.assumed, IsEmpty());
  EXPECT_EQ(row.ranks, 16);
  EXPECT_EQ(row.bytes, mebibytes(1));
  EXPECT_DOUBLE_EQ(row.measured.value, 100e-6);
  EXPECT_EQ(cluster(row, "node"), "hgx-h100");
  EXPECT_EQ(cluster(row, "fabric"), "infiniband-400g");
  EXPECT_EQ(cluster(row, "nics_per_node"), "8");
}

TEST(MapCollective, BlankCardsAreFilledFromNameAndPlatformAndListed) {
  const MappedCollective row = mapped({{"nics_per_node", ""}, {"nic_gbps", ""}, {"inter_network", "HDR"}});
  EXPECT_EQ(cluster(row, "fabric"), "infiniband-200g");
  EXPECT_THAT(row.assumed, ElementsAre(HasSubstr("8 network cards a node"), HasSubstr("200 Gb/s")));
}

// All-reduce on 16 ranks moves 2 * 15 / 16 as much as it reduces: 18.75 GB/s of bus are 10 of algorithm.
TEST(MapCollective, BusBandwidthAloneGivesATime) {
  const MappedCollective row = mapped({{"time_us", ""}, {"busbw_GBps", "18.75"}});
  EXPECT_NEAR(row.measured.value, 1048576 / 10e9, 1e-12);
  EXPECT_EQ(row.timing, "back-computed");
}

TEST(MapCollective, AServerThatStandsInForAnotherIsAssumed) {
  EXPECT_THAT(mapped({{"gpu", "H20-96GB"}}).assumed, ElementsAre(HasSubstr("H20 on the links of H100")));
  EXPECT_THAT(mapped({{"gpu", "B300"}}).assumed, testing::Contains(HasSubstr("B300 on the links of B200")));
}

TEST(MapCollective, NumbersInTheNetworksNameAreRead) {
  const MappedCollective row = mapped(
      {{"nics_per_node", ""}, {"nic_gbps", ""}, {"inter_network", "RoCEv2 4x100G"}, {"transport", "roce"}});
  EXPECT_EQ(cluster(row, "nics_per_node"), "4");
  EXPECT_EQ(cluster(row, "fabric"), "roce-100g");
  EXPECT_THAT(row.assumed, ElementsAre("4 network cards a node (by the network's name)",
                                       "100 Gb/s a network card (by the network's name)"));
  EXPECT_EQ(cluster(mapped({{"nic_gbps", "12.5"}}), "fabric"), "infiniband-12.5g");
}

TEST(MapCollective, OneNodeNeedsNoCards) {
  const MappedCollective row = mapped({{"nodes", "1"}, {"nics_per_node", ""}, {"nic_gbps", ""}});
  EXPECT_THAT(row.assumed, IsEmpty());
  EXPECT_EQ(cluster(row, "fabric"), "");
}

// 32 devices of 100 Gb/s beside eight GPUs: four a GPU, which NCCL's plug-in drives as one of 400.
TEST(MapCollective, DevicesOfOneGpuAddUp) {
  const MappedCollective row = mapped({{"transport", "efa"}, {"nics_per_node", "32"}, {"nic_gbps", "100"}});
  EXPECT_EQ(cluster(row, "fabric"), "efa-400g");
  EXPECT_EQ(cluster(row, "nics_per_node"), "8");
}

// 18 trays of four GPUs are one NVLink domain of 72; two racks are two, with 4 x 18 cards each.
TEST(MapCollective, TraysOfAnNvlinkDomainAreOneNode) {
  const Cells one = {{"gpu", "GB200"}, {"nodes", "18"}, {"gpus_per_node", "4"}, {"nics_per_node", "4"}};
  EXPECT_EQ(cluster(mapped(one), "nodes"), "1");
  EXPECT_EQ(cluster(mapped(one), "gpus_per_node"), "72");
  const Cells two = {{"gpu", "GB200"}, {"nodes", "36"}, {"gpus_per_node", "4"}, {"nics_per_node", "4"}};
  EXPECT_EQ(cluster(mapped(two), "nodes"), "2");
  EXPECT_EQ(cluster(mapped(two), "nics_per_node"), "72");
}

TEST(MapCollective, GoogleTransportsAreNotPlainTcp) {
  const auto fabric = [](const char* network) {
    return cluster(mapped({{"transport", "tcp"}, {"inter_network", network}, {"nic_gbps", "200"}}), "fabric");
  };
  EXPECT_EQ(fabric("GCP GPUDirect-TCPXO"), "tcpxo-200g");
  EXPECT_EQ(fabric("GCP GPUDirect-TCPX"), "tcpx-200g");
  EXPECT_EQ(fabric("GCP gVNIC plain TCP (no GPUDirect-TCPX)"), "ethernet-200g");
}

TEST(MapCollective, OmniPathIsNotInfiniBand) {
  EXPECT_EQ(cluster(mapped({{"inter_network", "Omni-Path"}, {"nic_gbps", ""}, {"gpu", "V100-SXM2-32GB"}}),
                    "fabric"),
            "omnipath-100g");
}

// Three GPUs more in the process, 3.2 us each.
TEST(MapCollective, OneProcessForSeveralGpusCostsTimeThatIsTheBenchmarks) {
  EXPECT_NEAR(mapped({{"env_notes", "mpirun -n 4, -g 4 per process"}}).harness.value, 3 * 3.2e-6, 1e-12);
  EXPECT_EQ(mapped({{"env_notes", "mpirun -np 16 -g 1"}}).harness.value, 0);
}

TEST(MapCollective, AVirtualMachineAddsToTheLinkLatency) {
  const double bare = load_fabric("infiniband-400g", {}).link_latency.value * 1e9;
  const MappedCollective row = mapped({{"env_notes", "Azure ND H100 v5"}});
  EXPECT_EQ(cluster(row, "link_latency"), std::to_string(std::lround(bare + 11000)) + " ns");
}

TEST(MapCollective, WhatARunSetIsSet) {
  const auto nccl = [](const char* notes, const char* key) {
    const Value* value = mapped({{"env_notes", notes}}).scenario.find("nccl")->find(key);
    return value == nullptr ? "" : value->to_text();
  };
  EXPECT_EQ(nccl("NCCL_ALGO=Tree", "algorithm"), "Tree");
  EXPECT_EQ(nccl("NCCL_PROTO=simple", "protocol"), "Simple");
  EXPECT_EQ(nccl("NCCL_NVLS_ENABLE=0 (Ring)", "algorithm"), "^NVLS,NVLSTree");
  EXPECT_EQ(nccl("", "algorithm"), "");
}

TEST(MapCollective, VersionsOfNcclCountAsTheNearestOlderOneThatIsKnown) {
  const auto version = [](const char* text) {
    const Value* value = mapped({{"nccl_version", text}}).scenario.find("nccl")->find("version");
    return value == nullptr ? "" : value->to_text();
  };
  EXPECT_EQ(version("2.23.4"), "2.21");
  EXPECT_EQ(version("2.29.3"), "2.27");
  EXPECT_EQ(version("2.4.7ms0"), "2.18");
  EXPECT_EQ(version(""), "");
}

TEST(MapCollective, WhereTimesComeFromIsKnown) {
  EXPECT_EQ(mapped().timing, "parsed");
  EXPECT_EQ(mapped({{"env_notes", "time_us back-computed from the published bandwidth"}}).timing,
            "back-computed");
  EXPECT_EQ(mapped({{"env_notes", "algbw/busbw recomputed from published time"}}).timing, "published time");
}

// 200 GB/s of algorithm bandwidth: 1 MiB in 5.24 us. With one digit after the point 0.1 is off by half.
TEST(MapCollective, ABandwidthGivesTheTimeUnlessItIsRoundedAway) {
  EXPECT_NEAR(mapped({{"time_us", ""}, {"algbw_GBps", "200.0"}}).measured.value, 1048576 / 200e9, 1e-12);
  EXPECT_THAT(reason({{"time_us", ""}, {"algbw_GBps", "0.1"}}), HasSubstr("rounded too coarsely"));
}

TEST(MapCollective, WhatCannotBeComparedIsSkippedWithItsReason) {
  EXPECT_THAT(reason({{"env_notes", "PROBLEM CASE (poor performance)"}}), HasSubstr("pathology"));
  EXPECT_THAT(reason({{"set_id", "issue1453_h100_16r_2"}}), HasSubstr("pathology"));
  EXPECT_THAT(reason({{"intra_link", "same GPU"}}), HasSubstr("loopback"));
  EXPECT_THAT(reason({{"gpu", "MI300X"}}), HasSubstr("MI300X"));
  EXPECT_THAT(reason({{"gpu", ""}}), HasSubstr("GPU is not stated"));
  EXPECT_THAT(reason({{"collective", "hypercube"}}), HasSubstr("hypercube"));
  EXPECT_THAT(reason({{"bytes", ""}}), HasSubstr("size"));
  EXPECT_THAT(reason({{"time_us", "0"}}), HasSubstr("not above 0"));
  EXPECT_THAT(reason({{"nodes", "1"}, {"gpus_per_node", "1"}}), HasSubstr("one rank"));
  EXPECT_THAT(reason({{"gpus_per_node", "12"}}), HasSubstr("hgx-h100 has 8"));
  EXPECT_THAT(reason({{"nodes", ""}}), HasSubstr("number of nodes"));
}

/// Machines that people publish tables of; every one must map.
TEST(MapCollective, KnowsTheUsualMachines) {
  const auto node = [](const char* gpu, const char* link, const char* network, const char* per_node,
                       const char* transport) {
    return cluster(mapped({{"gpu", gpu},
                           {"intra_link", link},
                           {"inter_network", network},
                           {"gpus_per_node", per_node},
                           {"transport", transport},
                           {"nics_per_node", ""},
                           {"nic_gbps", ""}}),
                   "node");
  };
  EXPECT_EQ(node("V100-SXM2-32GB", "NVLink2", "AWS EFA v1 (p3dn)", "8", "efa"), "aws-p3dn");
  EXPECT_EQ(node("V100-SXM2-32GB", "NVLink2", "Omni-Path", "4", "opa"), "hgx-v100-4gpu");
  EXPECT_EQ(node("V100-SXM2-16GB", "NVLink2", "InfiniBand EDR", "8", "ib"), "dgx-1-v100-16g");
  EXPECT_EQ(node("V100-SXM3-32GB", "NVSwitch", "InfiniBand EDR", "16", "ib"), "dgx-2");
  EXPECT_EQ(node("A100-SXM4-40GB", "NVSwitch(NVLink3)", "AWS EFA v1", "8", "efa"), "dgx-a100-40g");
  EXPECT_EQ(node("A100-SXM4-40GB", "NV4 all-to-all", "InfiniBand HDR", "4", "ib"), "hgx-a100-4gpu");
  EXPECT_EQ(node("A100-PCIe-80GB", "NVLink bridge NV12 pairs", "Ethernet", "4", "tcp"),
            "pcie-a100-80g-bridged");
  EXPECT_EQ(node("A100-PCIe-40GB", "PCIe4", "RoCE", "8", "roce"), "pcie-a100-40g");
  EXPECT_EQ(node("H200-SXM5-141GB", "NVSwitch(NVLink4)", "AWS EFA v3", "8", "efa"), "hgx-h200");
  EXPECT_EQ(node("H100-PCIe", "PCIe5", "RoCE", "8", "roce"), "pcie-h100");
  EXPECT_EQ(node("H800", "NVSwitch", "RoCE", "8", "roce"), "hgx-h800");
  EXPECT_EQ(node("GH200", "n/a", "InfiniBand NDR", "1", "ib"), "gh200");
  EXPECT_EQ(node("B200", "NVSwitch(NVLink5)", "RoCEv2 (GCP A4)", "8", "roce"), "hgx-b200");
  EXPECT_EQ(node("L40S", "PCIe4", "RoCE", "4", "roce"), "pcie-l40s");
  EXPECT_EQ(node("L4", "PCIe4", "GCP gVNIC", "8", "tcp"), "pcie-l4");
  EXPECT_EQ(node("A10G", "PCIe4", "AWS VPC TCP (ENA)", "4", "tcp"), "aws-g5");
  EXPECT_EQ(node("T4", "PCIe3", "AWS EFA", "1", "efa"), "aws-g4dn");
  EXPECT_EQ(node("RTX 3090", "PCIe4", "10GbE", "2", "tcp"), "pcie-rtx-3090");
  EXPECT_EQ(node("RTX 4090", "PCIe4 x16, no P2P (SHM)", "RoCE", "8", "roce"), "pcie-rtx-4090");
  EXPECT_EQ(node("RTX A6000", "PCIe4", "RoCE", "4", "roce"), "pcie-rtx-a6000");
}

}  // namespace
}  // namespace stepcast
