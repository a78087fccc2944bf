#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "base/document.hpp"
#include "tests/cli/program.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

class DoctorCommand : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    write("s.toml", scenario());
  }
  /// What 16 GPUs are predicted to take, `slower` times; INFO lines before.
  void write_log(double slower, const std::string& info = "") {
    const Outcome outcome = stepcast("collectives s.toml --op all_reduce --min 1M --max 256M --json -");
    std::string text = info + "# Collective test starting: all_reduce_perf\n";
    char line[200];
    for (int rank = 0; rank < 16; ++rank) {
      std::snprintf(line, sizeof line,
                    "#  Rank %2d Group  0 Pid 1 on node%d device %d [0x10] NVIDIA A100-SXM4-80GB\n", rank,
                    rank / 8, rank % 8);
      text += line;
    }
    text += "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
    const Value json = parse_json(outcome.out, "stdout");
    for (const Value& row : json.find("rows")->array) {
      const double bytes = row.find("bytes")->real, time = slower * row.find("time_s")->real;
      std::snprintf(line, sizeof line, "%12.0f %12.0f float sum -1 %.6f %.2f %.2f 0\n", bytes, bytes / 4,
                    1e6 * time, bytes / time / 1e9, 1.875 * bytes / time / 1e9);
      text += line;
    }
    write("nccl.log", text);
  }
};

TEST_F(DoctorCommand, WhatIsAsExpectedIsExitCode0) {
  write_log(1);
  const Outcome outcome = stepcast("doctor nccl.log --scenario s.toml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("All is as expected"));
}

TEST_F(DoctorCommand, WhatIsBelowAHalfIsNamedWithTheLineThatSpeaksForItAndIsExitCode1) {
  write_log(20, "node0:1:2 [0] NCCL INFO Using network Socket\n");
  const Outcome outcome = stepcast("doctor nccl.log --scenario s.toml --json -");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const Value json = parse_json(outcome.out, "stdout");
  ASSERT_EQ(json.find("findings")->array.size(), 1u);
  const Value& finding = json.find("findings")->array[0];
  EXPECT_EQ(finding.find("likely")->string, "tcp_sockets");
  EXPECT_NEAR(finding.find("performance")->real, 0.05, 1e-3);  // printed times have their digits
  EXPECT_EQ(finding.find("suspects")->array[0].find("evidence")->array[0].find("line")->integer, 1);
}

TEST_F(DoctorCommand, ALogOfOtherRanksSaysWhatToSet) {
  write_log(1);
  const Outcome outcome = stepcast("doctor nccl.log --scenario s.toml --set cluster.nodes=4");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("run on 16 ranks, and the scenario has 32"));
  EXPECT_THAT(outcome.err, HasSubstr("--set cluster.nodes=2 --set cluster.gpus_per_node=8"));
}

TEST_F(DoctorCommand, ATrainingLogIsComparedByItsStep) {
  const Value run = parse_json(stepcast("run s.toml --json -").out, "stdout");
  const double step = run.find("points")->array[0].find("step_time_s")->real;
  write("train.log", "iter 10: loss 5.0, time " + std::to_string(4000 * step) + "ms, mfu 1%\n");
  const Outcome outcome = stepcast("doctor train.log --scenario s.toml");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("training reaches 25.0 %"));
}

TEST_F(DoctorCommand, AProfileIsComparedWithTheShippedOne) {
  const std::string head = "[gpu]\nname = \"a100-sxm-80g\"\n";
  const std::string origin = "source = \"test\", measured_on = \"here\" }\n";
  // 1732 GB/s and 26 GB/s are shipped.
  write("p.toml", head + "memory_rate = { value = \"1700 GB/s\", " + origin +
                      "host_link_rate = { value = \"12 GB/s\", " + origin);
  const Outcome outcome = stepcast("doctor p.toml --scenario s.toml");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("copies between host and device reaches 46.2 %"));
  EXPECT_THAT(outcome.out, HasSubstr("Likely: PCIe links run below their width or speed"));
  EXPECT_THAT(outcome.out, HasSubstr("98.2 %"));  // memory

  write("q.toml", head + "memory_rate = { value = \"1700 GB/s\", " + origin);
  EXPECT_EQ(stepcast("doctor q.toml --scenario s.toml").exit_code, 0);
}

TEST_F(DoctorCommand, CollectivesOfAProfileAreComparedWithTheModel) {
  write("p.toml",
        "[[collective]]\noperation = \"all_reduce\"\nranks = 16\nnodes = 2\nfabric = \"infiniband-200g\"\n"
        "source = \"test\"\nmeasured_on = \"here\"\npoints = [[\"64 MiB\", \"40 ms\"], [\"256 MiB\", \"160 "
        "ms\"]]\n");
  const Outcome outcome = stepcast("doctor p.toml --scenario s.toml");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("all_reduce on 16 ranks, 64.0 MiB to 256 MiB reaches"));
}

/// 64 MiB in 40 ms on 16 ranks of 2 nodes is far below what the scenario's fabric should reach.
std::string slow_collective(const std::string& fabric, const std::string& more = "") {
  return "[[collective]]\noperation = \"all_reduce\"\nranks = 16\nnodes = 2\nfabric = \"" + fabric + "\"\n" +
         more + "source = \"test\"\nmeasured_on = \"here\"\npoints = [[\"64 MiB\", \"40 ms\"]]\n";
}

TEST_F(DoctorCommand, CollectivesOverOtherLinksAreLeftAsideWithANote) {
  const std::string gpu =
      "[gpu]\nname = \"a100-sxm-80g\"\nmemory_rate = { value = \"1700 GB/s\", source = \"test\", measured_on "
      "= "
      "\"here\" }\n";
  struct Case {
    std::string section, note;
  };
  for (const Case& other : {Case{slow_collective("ethernet-1g"),
                                 "collectives of 16 ranks on 2 nodes, ethernet-1g are left aside"},
                            Case{slow_collective("infiniband-200g", "link_rate = \"100 Gb/s\"\n"),
                                 "infiniband-200g at 100 Gb/s are"},
                            Case{slow_collective("infiniband-200g", "gpus_per_node = 4\n"),
                                 "16 ranks on 2 nodes, infiniband-200g are"}}) {
    write("p.toml", gpu + other.section);
    const Outcome outcome = stepcast("doctor p.toml --scenario s.toml");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("all_reduce")));
    EXPECT_THAT(outcome.err, HasSubstr(other.note));
    EXPECT_THAT(outcome.err,
                HasSubstr("the scenario has dgx-a100-80g with a100-sxm-80g, infiniband-200g at 200 Gb/s"));
  }
  write("p.toml", gpu + slow_collective("infiniband-200g", "link_rate = \"200 Gb/s\"\ngpus_per_node = 8\n"));
  EXPECT_EQ(stepcast("doctor p.toml --scenario s.toml").exit_code, 1);
}

TEST_F(DoctorCommand, AProfileOfOtherHardwareIsWrongInputThatSaysWhatItHolds) {
  write("p.toml",
        "[gpu]\nname = \"h100-sxm\"\nmemory_rate = { value = \"1 GB/s\", source = \"test\", measured_on = "
        "\"here\" }\n" +
            slow_collective("ethernet-1g"));
  const Outcome outcome = stepcast("doctor p.toml --scenario s.toml");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(
      outcome.err,
      HasSubstr("the scenario's hardware, dgx-a100-80g with a100-sxm-80g, infiniband-200g at 200 Gb/s"));
  EXPECT_THAT(outcome.err,
              HasSubstr("holds [[collective]] of 16 ranks on 2 nodes, ethernet-1g; [gpu] of h100-sxm"));
}

TEST_F(DoctorCommand, GpusOfTheLogThatTheScenarioLacksAreNoted) {
  write_log(1);
  EXPECT_THAT(stepcast("doctor nccl.log --scenario s.toml").err, testing::Not(HasSubstr("was written on")));
  EXPECT_THAT(stepcast("doctor nccl.log --scenario s.toml --set cluster.node=hgx-h100").err,
              HasSubstr("on \"NVIDIA A100-SXM4-80GB\" (a100-sxm-80g), and the scenario's node has h100-sxm"));
}

TEST_F(DoctorCommand, LinesOfNcclAloneAreReadWhereNothingIsTimed) {
  write("info.log", "n1:1:2 [0] NCCL INFO Using network Socket\n");
  const Outcome outcome = stepcast("doctor info.log --scenario s.toml");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("TCP sockets instead of RDMA, says line 1"));
  write("info.log", "n1:1:2 [0] NCCL INFO Using network IB\n");
  EXPECT_EQ(stepcast("doctor info.log --scenario s.toml").exit_code, 0);
}

TEST_F(DoctorCommand, FaultsOfTheCommandLineAreToldWithWhatToWrite) {
  EXPECT_THAT(stepcast("doctor --scenario s.toml").err, HasSubstr("which log or profile?"));
  EXPECT_THAT(stepcast("doctor x.log").err, HasSubstr("--scenario SCENARIO.toml"));
  write("empty.log", "nothing\n");
  EXPECT_EQ(stepcast("doctor empty.log --scenario s.toml").exit_code, 2);
}

}  // namespace
}  // namespace stepcast
