// nccl-tests logs as sections of a profile: what a log says itself, and what its owner is asked for.
#include "calibrate/import/log_collectives.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string head =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw #wrong\n";

std::string row(double bytes, double out, double in) {
  char line[200];
  std::snprintf(line, sizeof line, "%12.0f %12.0f float sum -1 %.6f 1.00 1.00 0 %.6f 1.00 1.00 0\n", bytes,
                bytes / 4, out, in);
  return line;
}

std::string rank(int number, const std::string& host, int device) {
  return "#  Rank " + std::to_string(number) + " Group  0 Pid 1 on " + host + " device " +
         std::to_string(device) + " [0000:04:00] NVIDIA H100 80GB HBM3\n";
}

const std::string named = "# Collective test starting: all_reduce_perf\n";
const std::string two_hosts =
    rank(0, "alpha", 0) + rank(1, "alpha", 1) + rank(2, "beta", 0) + rank(3, "beta", 1);

NcclTestsLog parsed(const std::string& text) { return parse_nccl_tests_log(text, "x.log"); }

LogContext with_fabric() {
  LogContext context;
  context.fabric = "infiniband-400g";
  context.link_rate = gigabits_per_second(400);
  return context;
}

std::vector<std::string> faults(const NcclTestsLog& log, const LogContext& context) {
  std::vector<std::string> found;
  try {
    (void)collectives_of({log}, context);
  } catch (const ScenarioError& error) {
    for (const Diagnostic& fault : error.diagnostics()) found.push_back(fault.message + " | " + fault.hint);
  }
  return found;
}

TEST(LogCollectives, NodesThatRanksCannotFillAreRefused) {
  const NcclTestsLog log = parsed(named + "# nRanks: 4\n#   Using devices\n" + rank(0, "alpha", 0) +
                                  rank(3, "beta", 0) + head + row(1024, 20, 10));
  LogContext context = with_fabric();
  context.ranks = 4;
  for (const int nodes : {3, 8}) {
    context.nodes = nodes;
    EXPECT_THAT(faults(log, context),
                ElementsAre(HasSubstr("4 ranks do not fill " + std::to_string(nodes) + " hosts evenly")));
  }
  context.nodes = 2;
  EXPECT_EQ(collectives_of({log}, context).collectives.at(0).nodes, 2);
}

TEST(LogCollectives, CountRanksAndHostsOfTheDeviceList) {
  const NcclTestsLog log = parsed(named + two_hosts + "NCCL version 2.27.7+cuda13.0\n" + head +
                                  row(1024, 20, 10) + row(4096, 40, 30));
  const LogCollectives found = collectives_of({log}, with_fabric());
  ASSERT_EQ(found.collectives.size(), 1u);
  const MeasuredCollective& one = found.collectives[0];
  EXPECT_EQ(one.operation, "all_reduce");
  EXPECT_EQ(one.ranks, 4);
  EXPECT_EQ(one.nodes, 2);
  EXPECT_EQ(one.gpus_per_node, 2);
  EXPECT_EQ(one.fabric, "infiniband-400g");
  EXPECT_EQ(one.nccl_version, "2.27.7");
  EXPECT_EQ(one.source, "nccl-tests log x.log, out of place");
  EXPECT_EQ(one.measured_on, "NVIDIA H100 80GB HBM3; alpha beta; NCCL 2.27.7");
  ASSERT_EQ(one.points.size(), 2u);
  EXPECT_EQ(one.points[1].first, kibibytes(4));
  EXPECT_DOUBLE_EQ(one.points[1].second.value, 40e-6);
}

TEST(LogCollectives, TakeTheInPlaceHalfWhenAsked) {
  LogContext context = with_fabric();
  context.in_place = true;
  const LogCollectives found =
      collectives_of({parsed(named + two_hosts + head + row(1024, 20, 10))}, context);
  EXPECT_DOUBLE_EQ(found.collectives.at(0).points.at(0).second.value, 10e-6);
  EXPECT_THAT(found.collectives[0].source, HasSubstr("in place"));
}

TEST(LogCollectives, InsideOneNodeTheLinkClassIsTheNodesName) {
  LogContext context;
  context.node = "hgx-h100";
  const NcclTestsLog log =
      parsed(named + rank(0, "alpha", 0) + rank(1, "alpha", 1) + head + row(1024, 20, 10));
  const MeasuredCollective one = collectives_of({log}, context).collectives.at(0);
  EXPECT_EQ(one.fabric, "hgx-h100");
  EXPECT_EQ(one.link_rate, std::nullopt);
}

// 20 and 80 us of one size, in two files: sqrt(20 x 80) = 40 us.
TEST(LogCollectives, SizesOfSeveralLogsGiveTheirGeometricMean) {
  const auto log = [](double time) { return parsed(named + two_hosts + head + row(1024, time, 1)); };
  const LogCollectives found = collectives_of({log(20), log(80)}, with_fabric());
  ASSERT_EQ(found.collectives.size(), 1u);
  EXPECT_NEAR(found.collectives[0].points.at(0).second.value, 40e-6, 1e-15);
}

// The speed of a card is printed in Mb/s.
TEST(LogCollectives, InfoLinesTellFabricNodesAndDate) {
  const NcclTestsLog log =
      parsed(named +
             "2026-03-01 10:11:12 n1:1:1 [0] NCCL INFO NET/IB: [0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 "
             "speed=100000 x\n"
             "n1:1:1 [0] NCCL INFO Using network IB\n"
             "n1:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0\n" +
             head + row(1024, 20, 10));
  const MeasuredCollective one = collectives_of({log}, {}).collectives.at(0);
  EXPECT_EQ(one.fabric, "roce-100g");
  EXPECT_EQ(one.link_rate, gigabits_per_second(100));
  EXPECT_EQ(one.ranks, 4);
  EXPECT_EQ(one.nodes, 2);
  EXPECT_EQ(one.measured_on, "2026-03-01");
}

TEST(LogCollectives, WhatALogDoesNotSayIsAskedForByTheOptionsName) {
  const NcclTestsLog bare = parsed(head + row(1024, 20, 10));
  const auto asked = faults(bare, {});
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_THAT(asked[0], HasSubstr("--operation"));
  EXPECT_THAT(asked[1], HasSubstr("--ranks"));
  LogContext context;
  context.operation = Operation::all_reduce;
  context.ranks = 4;
  EXPECT_THAT(faults(bare, context).at(0), HasSubstr("--nodes"));
  context.nodes = 2;
  EXPECT_THAT(faults(bare, context).at(0), HasSubstr("--fabric"));
  context.nodes = 1;
  EXPECT_THAT(faults(bare, context).at(0), HasSubstr("--node with"));
  context.node = "hgx-h100";
  EXPECT_THAT(faults(bare, context), ElementsAre());
}

TEST(LogCollectives, TheNodeAskedForIsOneWithTheLogsGpu) {
  const std::string gpu =
      "#  Rank  0 Pid 1 on alpha device  0 [0x10] NVIDIA L4\n#  Rank  1 Pid 1 on alpha device  1 [0x20] "
      "NVIDIA L4\n";
  EXPECT_THAT(faults(parsed(named + gpu + head + row(1024, 20, 10)), {}).at(0), HasSubstr("--node pcie-l4"));
}

TEST(LogCollectives, AScenariosGpusPerNodeTellTheNodes) {
  LogContext context = with_fabric();
  context.gpus_per_node = 8;
  const std::string ranks = "n1:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 32 cudaDev 0\n";
  EXPECT_EQ(
      collectives_of({parsed(named + ranks + head + row(1024, 20, 10))}, context).collectives.at(0).nodes, 4);
}

// 100.00 and 199.00 GB/s, each half a digit up or down: ratios of 1.98985 to 1.99015, and 2 / (2 - ratio) is
// 197.04 to 203.05.
TEST(LogCollectives, RanksThatThePrintedDigitsDoNotTellAreAskedFor) {
  const NcclTestsLog log = parsed(named + head + "1048576 262144 float sum -1 10486 100.00 199.00 0\n");
  EXPECT_THAT(faults(log, with_fabric()).at(0), HasSubstr("its bandwidths allow 198 to 203"));
  LogContext context = with_fabric();
  context.nodes = 25;
  context.ranks = 200;
  EXPECT_EQ(collectives_of({log}, context).collectives.at(0).ranks, 200);
  context.ranks = 64;
  EXPECT_THAT(faults(log, context).at(0), HasSubstr("not to 64"));
}

// Ranks 0 and 3 are listed, on two hosts; 1 and 2 may be on others.
TEST(LogCollectives, HostsMayHideInAGapOfTheDeviceList) {
  const NcclTestsLog log =
      parsed(named + rank(0, "alpha", 0) + rank(3, "delta", 0) + head + row(1024, 20, 10));
  EXPECT_THAT(faults(log, with_fabric()).at(0), HasSubstr("on how many hosts"));
}

TEST(LogCollectives, NoTimesOfTheHalfAskedForIsAFault) {
  LogContext context = with_fabric();
  context.in_place = true;
  const NcclTestsLog log =
      parsed(named + two_hosts + head + "1048576 262144 float sum -1 10 100.00 150.00 0\n");
  EXPECT_THAT(faults(log, context).at(0), HasSubstr("no in-place times"));
}

// ---- logs of real runs ------------------------------------------------------------------------------------

struct Expected {
  const char* file;
  std::optional<Operation> operation;  ///< given, where the log does not say it
  std::optional<int> nodes;            ///< likewise
  std::size_t points, in_place;
  int ranks, on_nodes;
};

class LogSpecimens : public testing::TestWithParam<Expected> {};

TEST_P(LogSpecimens, GiveAllTheirPoints) {
  const Expected& expected = GetParam();
  const auto path =
      std::filesystem::path(STEPCAST_SOURCE_DIR "/../shared/formats/nccl-tests") / expected.file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no log " << path;
  LogContext context = with_fabric();
  context.node = "hgx-h100";
  context.operation = expected.operation;
  context.nodes = expected.nodes;
  for (const bool in_place : {false, true}) {
    context.in_place = in_place;
    const std::size_t points = in_place ? expected.in_place : expected.points;
    if (points == 0) continue;
    const LogCollectives found = collectives_of({read_nccl_tests_log(path.string())}, context);
    ASSERT_EQ(found.collectives.size(), 1u);
    EXPECT_EQ(found.collectives[0].points.size(), points);
    EXPECT_EQ(found.collectives[0].ranks, expected.ranks);
    EXPECT_EQ(found.collectives[0].nodes, expected.on_nodes);
  }
}

constexpr auto all_reduce = Operation::all_reduce;

INSTANTIATE_TEST_SUITE_P(NcclTests, LogSpecimens,
                         testing::Values(Expected{"a100pcie-nvlink-down-2gpu-info.log", {}, {}, 11, 11, 2, 1},
                                         Expected{"a3high-tcpx-allgather.log", {}, 2, 10, 10, 16, 2},
                                         Expected{"aws-p4d-mpirun-tag-info.log", {}, {}, 30, 30, 16, 2},
                                         Expected{"aws-p4de-srun-label.log", {}, 2, 29, 29, 16, 2},
                                         Expected{"aws-p5-srun-label.log", {}, 2, 32, 32, 16, 2},
                                         Expected{"azure-ncv4-1.log", {}, 1, 31, 31, 4, 1},
                                         Expected{"azure-ncv4-2.log", {}, 1, 31, 31, 4, 1},
                                         Expected{"azure-ncv4-3.log", all_reduce, 1, 31, 31, 2, 1},
                                         Expected{"azure-ndmv4-aks-1.log", {}, 2, 31, 31, 16, 2},
                                         Expected{"coreweave-h100-64.log", {}, 12, 5, 5, 96, 12},
                                         Expected{"h100-a3mega-16ranks.log", {}, {}, 31, 31, 16, 2},
                                         Expected{"oci-a100-wide-columns.log", {}, {}, 4, 4, 16, 2},
                                         Expected{"pcie-a100-8gpu-many-runs.log", {}, {}, 22, 0, 8, 1},
                                         Expected{
                                             "rtx3090-2x1-roce-mtu1024.log", all_reduce, {}, 27, 27, 2, 2},
                                         Expected{"rtx3090-shell-session.log", {}, {}, 2, 0, 32, 4},
                                         Expected{"sb-allreduce-a100-1proc8gpu.log", {}, {}, 32, 32, 8, 1},
                                         Expected{"sb-reduce-a100.log", {}, {}, 32, 32, 8, 1}),
                         [](const auto& specimen) {
                           std::string name = specimen.param.file;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace stepcast
