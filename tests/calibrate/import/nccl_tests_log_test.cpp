// One test for each way in which logs come: fixtures are written here, in the formats of nccl-tests.
#include "calibrate/import/nccl_tests_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

const std::string head =
    "#                                                              out-of-place                       "
    "in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n";
const std::string ranks_two_hosts =
    "#  Rank  0 Group  0 Pid   6899 on         alpha device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   6900 on         beta device  0 [0000:05:00] NVIDIA H100 80GB HBM3\n";
const std::string row_1m =
    "     1048576        262144     float     sum      -1    93.75   11.19   16.78      0    93.54   11.21   "
    "16.82"
    "      0\n";
const std::string row_2m =
    "     2097152        524288     float     sum      -1    137.2   15.29   22.93      0    137.1   15.30   "
    "22.95"
    "      0\n";

NcclTestsLog parsed(const std::string& text) { return parse_nccl_tests_log(text, "x.log"); }

std::string fault(const std::string& text) {
  try {
    (void)parsed(text);
  } catch (const ScenarioError& error) {
    return error.diagnostics().front().message;
  }
  return "no fault";
}

std::string prefixed(const std::string& text, const std::string& prefix) {
  std::string made = prefix;
  for (const char c : text) {
    made += c;
    if (c == '\n') made += prefix;
  }
  return made;
}

/// The two rows of the fixtures, whatever surrounds them.
void expect_both_rows(const NcclTestsLog& log) {
  ASSERT_EQ(log.runs.size(), 1u);
  const auto& rows = log.runs[0].rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].size, mebibytes(1));
  EXPECT_EQ(rows[0].count, 262144);
  EXPECT_EQ(rows[0].type, "float");
  EXPECT_EQ(rows[0].reduction, "sum");
  EXPECT_EQ(rows[0].root, -1);
  EXPECT_DOUBLE_EQ(rows[0].out_of_place->time.value, 93.75e-6);
  EXPECT_DOUBLE_EQ(rows[0].out_of_place->bus_bandwidth, 16.78);
  EXPECT_DOUBLE_EQ(rows[0].in_place->time.value, 93.54e-6);
  EXPECT_DOUBLE_EQ(rows[1].in_place->algorithm_bandwidth, 15.30);
}

TEST(NcclTestsLog, ReadsHeaderAndRows) {
  const NcclTestsLog log = parsed(
      "# nccl-tests version 2.17.9 nccl-headers=22903 nccl-library=22903\n"
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20\n" +
      ranks_two_hosts + "NCCL version 2.29.3+cuda13.1\n" + head + row_1m + row_2m +
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 19.87\n"
      "# Collective test concluded: all_reduce_perf\n");
  expect_both_rows(log);
  const NcclTestsRun& run = log.runs[0];
  EXPECT_EQ(run.operation, Operation::all_reduce);
  EXPECT_EQ(run.ranks, 2);
  EXPECT_EQ(run.hosts(), 2);
  EXPECT_EQ(run.places[1].gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(run.gpus_per_thread, 1);
  EXPECT_EQ(run.tests_version, "2.17.9");
  EXPECT_EQ(run.nccl_version, "2.29.3");
  EXPECT_DOUBLE_EQ(*run.average_bus_bandwidth, 19.87);
}

TEST(NcclTestsLog, LabelsOfLaunchersAndIndentationDoNotMatter) {
  for (const char* prefix : {"0: ", "[1,0]<stdout>:", "    ", "> ", "[pod/launcher-x7k2p/nccl] ",
                             "2024-05-01T10:00:00.123Z ", "worker-0 | "})
    expect_both_rows(parsed(prefixed(head + row_1m + row_2m, prefix)));
}

TEST(NcclTestsLog, WindowsLineEndsDoNotMatter) {
  std::string text;
  for (const char c : head + row_1m + row_2m) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  expect_both_rows(parsed(text));
}

TEST(NcclTestsLog, InfoLinesBetweenRowsAreNoRows) {
  expect_both_rows(
      parsed(head + "node1:57:214 [7] NCCL INFO comm 0x55c1 rank 1 nranks 2 cudaDev 7 - Init COMPLETE\n" +
             row_1m + "node1:57:214 [7] NCCL INFO 8 coll channels, 8 p2p channels\n" + row_2m));
}

// NCCL writes while the program is in the middle of a row: before its times, and between its halves.
TEST(NcclTestsLog, RowsTornByInfoLinesAreJoined) {
  const std::string info =
      "ip-10-0-0-1:65704:65704 [1] NCCL INFO AllReduce: opCount 0 count 2097152 datatype 7\n";
  expect_both_rows(parsed(head + "     1048576        262144     float     sum      -1" + info + info +
                          "    93.75   11.19   16.78      0" + info + info +
                          "    93.54   11.21   16.82      0\n" + row_2m));
  // Its error cell is N/A, whose A looks like part of the host's name.
  const auto rows =
      parsed(head + "     1048576        262144     float     sum      -1    93.75   11.19   16.78    N/A" +
             "node1:1:1 [0] NCCL INFO AllReduce: opCount 0\n    93.54   11.21   16.82    N/A\n")
          .runs[0]
          .rows;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_DOUBLE_EQ(rows[0].in_place->time.value, 93.54e-6);
}

TEST(NcclTestsLog, OldColumnsWithoutRoot) {
  const NcclTestsLog log = parsed(
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  "
      "error\n"
      "           0             0   float     sum    35.20    0.00    0.00    N/A    34.05    0.00    0.00   "
      " N/A\n"
      "     1048576        262144   float     sum    93.75   11.19   16.78  2e-07    93.54   11.21   16.82  "
      "1e-07\n");
  ASSERT_EQ(log.runs[0].rows.size(), 1u);  // a size of 0 is none
  EXPECT_EQ(log.runs[0].rows[0].root, std::nullopt);
  EXPECT_DOUBLE_EQ(log.runs[0].rows[0].out_of_place->time.value, 93.75e-6);
  EXPECT_DOUBLE_EQ(log.runs[0].rows[0].in_place->bus_bandwidth, 16.82);
}

TEST(NcclTestsLog, TheInPlaceHalfMayBeMissingOrNotAvailable) {
  const NcclTestsLog missing =
      parsed(head + "     1048576        262144     float     sum      -1    93.75   11.19   16.78    N/A\n");
  EXPECT_FALSE(missing.runs[0].rows[0].in_place);
  const NcclTestsLog not_available = parsed(head +
                                            "     1048576         16384     float    none      -1    93.75   "
                                            "11.19   10.49      0      N/A     N/A     N/A    "
                                            "N/A\n");
  EXPECT_FALSE(not_available.runs[0].rows[0].in_place);
  EXPECT_EQ(not_available.runs[0].operation, Operation::all_to_all);  // none, and never in place
}

TEST(NcclTestsLog, CountsBeyond32Bits) {
  const NcclTestsLog log =
      parsed(head +
             " 17179869184    4294967296     float     sum      -1    66085  259.97  487.44      0"
             "    66093  259.93  487.38      0\n");
  EXPECT_EQ(log.runs[0].rows[0].count, 4294967296);
  EXPECT_EQ(log.runs[0].rows[0].size, gibibytes(16));
}

// 2 (n-1)/n = 487.44 / 259.97 = 1.875: 16 ranks. all_gather counts elements of one rank: 1 MiB / (16384 x 4)
// = 16.
TEST(NcclTestsLog, WithoutRankLinesTheColumnsTellTheRanks) {
  EXPECT_EQ(
      parsed(head + " 17179869184    4294967296     float     sum      -1    66085  259.97  487.44      0\n")
          .runs[0]
          .ranks,
      16);
  const NcclTestsRun gathered =
      parsed(
          head +
          "     1048576         16384     float    none      -1    996.7    1.05    0.99    N/A   1007.1    "
          "1.04    0.98    N/A\n")
          .runs[0];
  EXPECT_EQ(gathered.ranks, 16);
  EXPECT_EQ(gathered.operation, Operation::all_gather);
  EXPECT_EQ(gathered.operation_from, "columns");
}

TEST(NcclTestsLog, ARootTellsBroadcastFromReduce) {
  const auto operation = [](const char* reduction) {
    return parsed(head + "     1048576        262144     float    " + reduction +
                  "       0    93.75   11.19   11.19      0    93.54   11.21   11.21      0\n")
        .runs[0]
        .operation;
  };
  EXPECT_EQ(operation("none"), Operation::broadcast);
  EXPECT_EQ(operation(" sum"), Operation::reduce);
}

TEST(NcclTestsLog, SeveralRunsOfAShellSessionStayApart) {
  const std::string threads = "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor)\n";
  const NcclTestsLog log = parsed("$ ./build/all_reduce_perf -g 8\n" + threads + head + row_1m +
                                  "# Avg bus bandwidth    : 16.8\n(base) user@node1:~$ mpirun -np 8 "
                                  "./build/reduce_scatter_perf -b 1M\n" +
                                  threads + head + row_2m + "# Avg bus bandwidth    : 22.9\n");
  ASSERT_EQ(log.runs.size(), 2u);
  EXPECT_EQ(log.runs[0].operation, Operation::all_reduce);
  EXPECT_EQ(log.runs[1].operation, Operation::reduce_scatter);
  EXPECT_DOUBLE_EQ(*log.runs[0].average_bus_bandwidth, 16.8);
  EXPECT_EQ(rows_by_size(log, Operation::reduce_scatter, 4).size(), 1u);
}

// 90 and 160 us of one size: 120 us. Four ranks by 16.78 / 11.19 = 1.5.
TEST(NcclTestsLog, SizesRunSeveralTimesGiveTheirGeometricMean) {
  const auto run = [&](const char* time) {
    return "# nThread 1 nGpus 2 minBytes 8\n" + head +
           "     1048576        262144     float     sum      -1   " + time + "   11.19   16.78      0\n";
  };
  const auto rows = rows_by_size(parsed(run("90.00") + run("160.0")), Operation::all_reduce, 4);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NEAR(rows[0].out_of_place->time.value, 120e-6, 1e-12);
}

TEST(NcclTestsLog, KeepsWhatNcclSaysOfItsNetworkAndChoice) {
  const NcclTestsRun run =
      parsed(
          "n1:1:1 [0] NCCL INFO Using network AWS Libfabric\nn1:1:1 [0] NCCL INFO NCCL version "
          "2.27.7+cuda13.0\n" +
          head +
          "n1:1:1 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}\n" +
          row_1m)
          .runs[0];
  EXPECT_EQ(run.network, "AWS Libfabric");
  EXPECT_EQ(run.nccl_version, "2.27.7");
  ASSERT_EQ(run.choices.size(), 1u);
  EXPECT_EQ(run.choices[0].algorithm, "RING");
  EXPECT_EQ(run.choices[0].channels, 2);
}

TEST(NcclTestsLog, ALogWithoutRowsSaysWhy) {
  EXPECT_THAT(fault("hello\n"), HasSubstr("no table of nccl-tests"));
  EXPECT_THAT(fault("\n \n"), HasSubstr("the file is empty"));
  EXPECT_THAT(fault(ranks_two_hosts + head), HasSubstr("has no rows"));
  EXPECT_THAT(fault(head + "node1: Test NCCL failure common.cu:958 'unhandled cuda error'\n"),
              HasSubstr("Test NCCL failure"));
}

TEST(NcclTestsLog, ProseIsNoRow) {
  EXPECT_THAT(fault("we ran 8 2 float tests and 4 int8 ones\n"), HasSubstr("no table"));
}

}  // namespace
}  // namespace stepcast
