#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "base/document.hpp"
#include "tests/cli/program.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;
using testing::Not;

class CollectivesCommand : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    write("c.toml", cluster("infiniband-200g"));
  }
  static std::string cluster(const std::string& fabric) {
    return "[cluster]\nnodes = 2\nnode = \"dgx-a100-80g\"\nfabric = \"" + fabric + "\"\n";
  }
  /// An nccl-tests log of 16 ranks on two hosts, 1 KiB to 1 GiB, `microseconds` of a size.
  template <class Times>
  static std::string log(Times microseconds) {
    std::string text = "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1 minBytes 1024\n";
    char line[200];
    for (int rank = 0; rank < 16; ++rank) {
      std::snprintf(line, sizeof line,
                    "#  Rank %2d Group  0 Pid 1 on node%d device %d [0x10] NVIDIA A100-SXM4-80GB\n", rank,
                    rank / 8, rank % 8);
      text += line;
    }
    text += "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
    for (double bytes = 1024; bytes <= 1073741824.0; bytes *= 2) {
      const double time = microseconds(bytes);
      std::snprintf(line, sizeof line, "%12.0f %12.0f float sum -1 %.6f %.2f %.2f 0 %.6f %.2f %.2f 0\n",
                    bytes, bytes / 4, time, bytes / time / 1e3, 1.875 * bytes / time / 1e3, 2 * time, 1.0,
                    1.0);
      text += line;
    }
    return text;
  }
  Value json_of(const std::string& arguments) {
    const Outcome outcome = stepcast("collectives " + arguments + " --json -");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return parse_json(outcome.out, "stdout");
  }
};

// 2 (n-1)/n of 16 ranks is 1.875: bus over algorithm bandwidth. Algorithm bandwidth is bytes / time.
TEST_F(CollectivesCommand, JsonOfOneOperationHasItsTableAtTheTop) {
  const Value json = json_of("c.toml --op all_reduce --min 1M --max 4M");
  EXPECT_EQ(json.find("schema")->string, "stepcast.collectives/1");
  EXPECT_EQ(json.find("operation")->string, "all_reduce");
  EXPECT_EQ(json.find("ranks")->integer, 16);
  ASSERT_EQ(json.find("rows")->array.size(), 3u);
  const Value& row = json.find("rows")->array[1];
  EXPECT_EQ(row.find("bytes")->integer, 2097152);
  const double time = row.find("time_s")->real, rate = row.find("algorithm_bandwidth_Bps")->real;
  EXPECT_NEAR(rate, 2097152 / time, 1e-6 * rate);
  EXPECT_NEAR(row.find("bus_bandwidth_Bps")->real / rate, 1.875, 1e-9);
  EXPECT_LE(row.find("time_low_s")->real, time);
  EXPECT_GE(row.find("time_high_s")->real, time);
  EXPECT_FALSE(row.find("algorithm")->string.empty());
  EXPECT_GE(row.find("channels")->integer, 1);
}

TEST_F(CollectivesCommand, AllOperationsAreOneDocument) {
  const Value json = json_of("c.toml --op all --min 1M --max 1M");
  std::vector<std::string> names;
  for (const Value& table : json.find("operations")->array) names.push_back(table.find("operation")->string);
  EXPECT_THAT(names, testing::ElementsAre("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                          "alltoall", "sendrecv"));
}

TEST_F(CollectivesCommand, NamesOfNcclTestsAndOursAreTheSame) {
  for (const char* name : {"alltoall", "all_to_all", "alltoall_perf", "./build/alltoall_perf"})
    EXPECT_EQ(json_of(std::string("c.toml --min 1M --max 1M --op ") + name).find("operation")->string,
              "alltoall");
}

TEST_F(CollectivesCommand, TheTableLooksLikeNcclTests) {
  const Outcome outcome = stepcast("collectives c.toml --op all_gather --min 1M --max 1M");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              HasSubstr("#       size         count      type   redop    root     time   algbw   busbw"));
  // 1 MiB gathered from 16 ranks of 4-byte elements: 16384 each.
  EXPECT_THAT(outcome.out, HasSubstr("     1048576         16384     float    none      -1"));
  EXPECT_THAT(outcome.out, HasSubstr("# Avg bus bandwidth    : "));
}

// From 8 B on, but sixteen ranks of four bytes need 64.
TEST_F(CollectivesCommand, SizesThatCannotBeDealtOutAreLeftOut) {
  EXPECT_EQ(
      json_of("c.toml --op reduce_scatter --max 256").find("rows")->array.front().find("bytes")->integer, 64);
  EXPECT_EQ(json_of("c.toml --op all_reduce --max 256").find("rows")->array.front().find("bytes")->integer,
            8);
}

TEST_F(CollectivesCommand, StepAndFactor) {
  EXPECT_EQ(json_of("c.toml --op all_reduce --min 1M --max 4M --step 1M").find("rows")->array.size(), 4u);
  EXPECT_EQ(json_of("c.toml --op all_reduce --min 1M --max 64M --factor 4").find("rows")->array.size(), 4u);
}

TEST_F(CollectivesCommand, TcpShowsBothSocketSettingsUnlessOneIsSet) {
  write("tcp.toml", cluster("ethernet-100g"));
  const Value both = json_of("tcp.toml --op all_reduce --min 256M --max 256M");
  ASSERT_NE(both.find("tuned_sockets"), nullptr);
  const auto time = [](const Value& table, const char* rows) {
    return table.find(rows)->array.front().find("time_s")->real;
  };
  EXPECT_LT(time(both, "tuned_sockets"), time(both, "rows"));
  write("tuned.toml", cluster("ethernet-100g") + "[nccl]\nsockets = \"tuned\"\n");
  const Value tuned = json_of("tuned.toml --op all_reduce --min 256M --max 256M");
  EXPECT_EQ(tuned.find("tuned_sockets"), nullptr);
  EXPECT_DOUBLE_EQ(time(tuned, "rows"), time(both, "tuned_sockets"));
}

// Nothing is congested: chunk by chunk is within a percent of the call as one activity.
TEST_F(CollectivesCommand, StepByStepAgreesAndRefusesWhatTheSwitchAddsUp) {
  const std::string sizes = "--op all_gather --min 1M --max 16M --factor 16";
  const Value fluid = json_of("c.toml " + sizes), steps = json_of("c.toml " + sizes + " --stepwise");
  for (std::size_t i = 0; i < 2; ++i) {
    const double ratio =
        steps.find("rows")->array[i].find("time_s")->real / fluid.find("rows")->array[i].find("time_s")->real;
    EXPECT_NEAR(ratio, 1, 0.01);
  }
  const Outcome refused = stepcast(
      "collectives c.toml --op all_reduce --min 64M --max 64M --stepwise --set cluster.node=hgx-h100");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("nccl.algorithm=Ring"));
}

TEST_F(CollectivesCommand, AVersionMayBeGivenAsANumber) {
  EXPECT_THAT(stepcast("collectives c.toml --op all_reduce --max 1K --set nccl.version=2.21").out,
              HasSubstr("NCCL 2.21"));
}

TEST_F(CollectivesCommand, AFullScenarioWorksAndItsOtherSectionsAreNotLookedInto) {
  write("full.toml", scenario() + "[what_if]\n\"training.micro_batch_size\" = [1, 2]\n");
  EXPECT_EQ(json_of("full.toml --op all_reduce --min 1M --max 1M").find("ranks")->integer, 16);
}

TEST_F(CollectivesCommand, SweptClustersAskForAChoice) {
  write("swept.toml", scenario() + "[what_if]\n\"cluster.nodes\" = [1, 2]\n");
  const Outcome outcome = stepcast("collectives swept.toml --op all_reduce");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cluster.nodes is swept over 2 values"));
  EXPECT_THAT(outcome.err, HasSubstr("--set cluster.nodes=2"));
  EXPECT_EQ(json_of("swept.toml --op all_reduce --max 8 --set cluster.nodes=1").find("ranks")->integer, 8);
}

TEST_F(CollectivesCommand, FaultsOfTheCommandLineSayWhatWasExpected) {
  const auto fault = [&](const std::string& arguments) {
    const Outcome outcome = stepcast("collectives " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    return outcome.err;
  };
  EXPECT_THAT(fault("c.toml"), HasSubstr("which operation?"));
  EXPECT_THAT(fault("--op all_reduce"), HasSubstr("which scenario?"));
  EXPECT_THAT(fault("c.toml --op all_redoce"), HasSubstr("did you mean \"all_reduce\""));
  EXPECT_THAT(fault("c.toml --op all_reduce --min 1Q"), HasSubstr("is no size"));
  EXPECT_THAT(fault("c.toml --op all_reduce --min 1M --max 1K"), HasSubstr("--max is below --min"));
  EXPECT_THAT(fault("c.toml --op all_reduce --factor 1"), HasSubstr("--factor"));
  EXPECT_THAT(fault("c.toml --op all_reduce --factor 2 --step 1M"), HasSubstr("contradict"));
  EXPECT_THAT(fault("c.toml --op all_reduce --fit"), HasSubstr("needs --compare"));
  EXPECT_THAT(fault("c.toml --op all_gather --min 4 --max 32"), HasSubstr("no size"));
  EXPECT_THAT(fault("c.toml --op all_reduce --set cluster.nodes=1 --set cluster.gpus_per_node=1"),
              HasSubstr("one GPU"));
}

TEST_F(CollectivesCommand, ComparesALogSizeBySize) {
  write("x.log", log([](double bytes) { return 60 + bytes / 80e3; }));
  const Value json = json_of("c.toml --compare x.log");
  EXPECT_EQ(json.find("operation")->string, "all_reduce");  // out of the log
  ASSERT_EQ(json.find("rows")->array.size(), 21u);
  const Value& row = json.find("rows")->array.back();
  EXPECT_NEAR(row.find("measured_s")->real, (60 + 1073741824 / 80e3) * 1e-6, 1e-9);
  EXPECT_NEAR(row.find("relative_error")->real, row.find("time_s")->real / row.find("measured_s")->real - 1,
              1e-9);
  EXPECT_EQ(row.find("corrected_s"), nullptr);
  const Value in_place = json_of("c.toml --compare x.log --in-place");
  EXPECT_NEAR(in_place.find("rows")->array.back().find("measured_s")->real, 2 * row.find("measured_s")->real,
              1e-9);
}

TEST_F(CollectivesCommand, ALogOfAnotherNcclIsNoted) {
  write("x.log", "NCCL version 2.21.5+cuda12.4\n" + log([](double bytes) { return 60 + bytes / 80e3; }));
  EXPECT_THAT(stepcast("collectives c.toml --compare x.log").err, HasSubstr("--set 'nccl.version=\"2.21\"'"));
  const Outcome same = stepcast("collectives c.toml --compare x.log --set 'nccl.version=\"2.21\"'");
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_THAT(same.err, Not(HasSubstr("note")));
}

// A log that is the prediction times 1.4 is met by five sizes of it everywhere, and `--profile` with what was
// written gives the same.
TEST_F(CollectivesCommand, FiveSizesCorrectTheModelAndTheOthersAreJudged) {
  const Value predicted = json_of("c.toml --op all_reduce --min 1K --max 1G");
  std::map<double, double> times;
  for (const Value& row : predicted.find("rows")->array)
    times[row.find("bytes")->real] = 1.4e6 * row.find("time_s")->real;
  write("x.log", log([&](double bytes) { return times.at(bytes); }));
  const Value json = json_of("c.toml --compare x.log --fit --profile-out fit.toml");
  int fitted = 0;
  for (const Value& row : json.find("rows")->array) {
    fitted += row.find("fitted")->boolean ? 1 : 0;
    EXPECT_NEAR(row.find("relative_error")->real, 1 / 1.4 - 1, 1e-4);
    EXPECT_NEAR(row.find("corrected_error")->real, 0, 1e-4);
  }
  EXPECT_EQ(fitted, 5);
  int judged = 0;
  for (const Value& band : json.find("summary")->array)
    judged += static_cast<int>(band.find("rows")->integer);
  EXPECT_EQ(judged, 16);
  const Value by_profile = json_of("c.toml --profile fit.toml --op all_reduce --min 1K --max 1G");
  for (std::size_t i = 0; i < 21; ++i) {
    EXPECT_NEAR(by_profile.find("rows")->array[i].find("time_s")->real,
                json.find("rows")->array[i].find("corrected_s")->real, 1e-9);
    EXPECT_TRUE(by_profile.find("rows")->array[i].find("measured_points")->boolean);
  }
}

TEST_F(CollectivesCommand, ALogOfOtherMachinesIsRefused) {
  write("x.log", log([](double bytes) { return 60 + bytes / 80e3; }));
  const Outcome ranks = stepcast("collectives c.toml --compare x.log --set cluster.nodes=4");
  EXPECT_EQ(ranks.exit_code, 2);
  EXPECT_THAT(ranks.err, HasSubstr("was run on 16 ranks, and the scenario has 32"));
  EXPECT_THAT(ranks.err, HasSubstr("--set cluster.nodes=2 --set cluster.gpus_per_node=8"));
  const Outcome operation = stepcast("collectives c.toml --compare x.log --op broadcast");
  EXPECT_EQ(operation.exit_code, 2);
  EXPECT_THAT(operation.err, HasSubstr("holds no broadcast"));
  write("empty.log", "nothing here\n");
  const Outcome empty = stepcast("collectives c.toml --compare empty.log");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, HasSubstr("empty.log:1:1: error: no table of nccl-tests"));
}

}  // namespace
}  // namespace stepcast
