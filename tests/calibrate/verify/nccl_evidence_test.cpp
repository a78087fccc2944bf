#include "calibrate/verify/nccl_evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/document.hpp"
#include "tests/calibrate/verify/scenarios.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

std::vector<Cause> causes(const std::string& log, const Scenario& scenario) {
  std::vector<Cause> found;
  for (const Evidence& one : find_evidence(log, scenario).evidence) found.push_back(one.cause);
  return found;
}

class NcclEvidence : public testing::Test {
 protected:
  static std::string info(const std::string& text) { return "n1:77:99 [0] NCCL INFO " + text + "\n"; }
  Scenario scenario = cluster_scenario(2, "hgx-h100", 8, "infiniband-400g");
};

TEST_F(NcclEvidence, SocketsInsteadOfInfiniband) {
  EXPECT_THAT(causes(info("Using network Socket"), scenario), testing::ElementsAre(Cause::tcp_sockets));
  EXPECT_THAT(causes(info("NCCL_IB_DISABLE set by environment to 1."), scenario),
              testing::ElementsAre(Cause::tcp_sockets));
  EXPECT_THAT(causes(info("NCCL_IB_DISABLE set by environment to 0."), scenario), testing::IsEmpty());
}

TEST_F(NcclEvidence, SocketsAreNoFaultOnEthernet) {
  const Scenario ethernet = cluster_scenario(2, "hgx-h100", 8, "ethernet-100g");
  EXPECT_THAT(causes(info("Using network Socket"), ethernet), testing::IsEmpty());
}

TEST_F(NcclEvidence, ChannelsWithoutGpudirect) {
  const Testimony said =
      find_evidence(info("Using network IB") + info("Channel 00/02 : 8[0] -> 0[0] [receive] via NET/IB/0") +
                        info("Channel 01/02 : 8[0] -> 0[0] [receive] via NET/IB/1"),
                    scenario);
  ASSERT_EQ(said.evidence.size(), 1u);
  EXPECT_EQ(said.evidence[0].cause, Cause::no_gpudirect);
  EXPECT_EQ(said.evidence[0].line, 2u);
  EXPECT_EQ(said.evidence[0].text, "NCCL INFO Channel 00/02 : 8[0] -> 0[0] [receive] via NET/IB/0");
  EXPECT_THAT(said.refuted, testing::ElementsAre(Cause::tcp_sockets, Cause::one_nic));
}

TEST_F(NcclEvidence, OneCardOfEight) {
  EXPECT_THAT(causes(info("Channel 00/02 : 8[0] -> 0[0] [send] via NET/IB/0/GDRDMA") +
                         info("Channel 01/02 : 8[0] -> 0[0] [send] via NET/IB/0/GDRDMA"),
                     scenario),
              testing::ElementsAre(Cause::one_nic));
  EXPECT_THAT(causes(info("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>"), scenario),
              testing::ElementsAre(Cause::one_nic));
  EXPECT_THAT(
      causes(info("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>"), scenario),
      testing::IsEmpty());
}

TEST_F(NcclEvidence, HealthyChannelsRefuteTheUsualCauses) {
  const Testimony said = find_evidence(info("Channel 00/02 : 8[0] -> 0[0] [send] via NET/IB/0/GDRDMA") +
                                           info("Channel 01/02 : 9[1] -> 1[1] [send] via NET/IB/1/GDRDMA") +
                                           info("Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read"),
                                       scenario);
  EXPECT_THAT(said.evidence, testing::IsEmpty());
  EXPECT_THAT(said.refuted, testing::UnorderedElementsAre(Cause::one_nic, Cause::no_gpudirect,
                                                          Cause::tcp_sockets, Cause::no_nvlink));
}

TEST_F(NcclEvidence, GpusOfANodeThatMeetInHostMemory) {
  EXPECT_THAT(causes(info("Channel 00 : 0[1b000] -> 1[1c000] via SHM/direct/direct"), scenario),
              testing::ElementsAre(Cause::no_nvlink));
  EXPECT_THAT(causes(info("Channel 00 : 0[1b000] -> 1[1c000] via SHM/direct/direct"),
                     cluster_scenario(1, "pcie-rtx-4090", 4, "")),
              testing::IsEmpty());  // there is no NVLink
}

TEST_F(NcclEvidence, SlowNvlinkAndSlowPcie) {
  // 18 links of 25 GB/s are 450 GB/s; a healthy H100 has NVL[360.0] or more. PCIe 5.0 x16 is PCI[48.0].
  EXPECT_THAT(causes(info("  + NVL[360.0] - NVS/0") + info("+ PCI[48.0] - GPU/0-1b000 (0)"), scenario),
              testing::IsEmpty());
  EXPECT_THAT(causes(info("  + NVL[60.0] - NVS/0"), scenario), testing::ElementsAre(Cause::no_nvlink));
  EXPECT_THAT(causes(info("+ PCI[12.0] - GPU/0-1b000 (0)"), scenario),
              testing::ElementsAre(Cause::slow_pcie));
}

TEST_F(NcclEvidence, TrainedDownLinkOfATopologyDump) {
  const auto gpu = [](const char* width) {
    return std::string(
               "<pci busid=\"0000:1b:00.0\" class=\"0x030200\" vendor=\"0x10de\" link_speed=\"32.0 GT/s "
               "PCIe\" link_width=\"") +
           width + "\">\n";
  };
  EXPECT_THAT(causes(gpu("16"), scenario), testing::IsEmpty());
  EXPECT_THAT(causes(gpu("8"), scenario), testing::ElementsAre(Cause::slow_pcie));
}

TEST_F(NcclEvidence, ACardWhosePcieLinkCantCarryItsLine) {
  // 400 Gb/s are 50 GB/s; 16 lanes of 32 GT/s carry 63, of 16 GT/s 31.5.
  const auto card = [](const char* speed) {
    return std::string("<pci busid=\"0000:1c:00.0\" class=\"0x020700\" link_speed=\"") + speed +
           " GT/s PCIe\" link_width=\"16\">\n";
  };
  EXPECT_THAT(causes(card("32.0"), scenario), testing::IsEmpty());
  EXPECT_THAT(causes(card("16.0"), scenario), testing::ElementsAre(Cause::slow_pcie));
}

TEST_F(NcclEvidence, CardsAcrossTheSockets) {
  EXPECT_THAT(causes(info("Pattern 4, crossNic 0, nChannels 8, bw 48.0/48.0, type NVL/SYS, sameChannels 1"),
                     scenario),
              testing::ElementsAre(Cause::wrong_numa_node));
  EXPECT_THAT(causes(info("Pattern 4, crossNic 0, nChannels 8, bw 48.0/48.0, type NVL/PXB, sameChannels 1"),
                     scenario),
              testing::IsEmpty());
}

TEST_F(NcclEvidence, OfARealLogWithASlowLink) {
  const std::string file =
      STEPCAST_SOURCE_DIR "/../shared/formats/nccl-tests/a100pcie-nvlink-down-2gpu-info.log";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no log " << file;
  const Testimony said = find_evidence(read_file(file), cluster_scenario(1, "pcie-a100-80g-bridged", 2, ""));
  ASSERT_EQ(said.evidence.size(), 1u);
  EXPECT_EQ(said.evidence[0].cause, Cause::no_nvlink);
  EXPECT_THAT(said.evidence[0].text, HasSubstr("NVL[20.0]"));  // of 240 the other way
}

TEST_F(NcclEvidence, OfARealHealthyCluster) {
  const std::string file = STEPCAST_SOURCE_DIR "/../shared/formats/nccl-tests/aws-p4d-mpirun-tag-info.log";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no log " << file;
  const Testimony said = find_evidence(read_file(file), cluster_scenario(2, "dgx-a100-40g", 8, "efa-100g"));
  EXPECT_THAT(said.evidence, testing::IsEmpty());
  EXPECT_THAT(said.refuted, testing::UnorderedElementsAre(Cause::one_nic, Cause::no_gpudirect,
                                                          Cause::tcp_sockets, Cause::no_nvlink));
}

}  // namespace
}  // namespace stepcast
