#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/document.hpp"
#include "tests/calibrate/import/gzip.hpp"
#include "tests/calibrate/import/trace_fixture.hpp"
#include "tests/cli/program.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;
using testing::Not;

class ImportCommand : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    write("s.toml", scenario());
  }
  /// All-reduce of 16 ranks on two hosts at 1 MiB and 1 GiB; 12.345 us + 1 us a MB.
  static std::string log(const std::string& program) {
    std::string text = "# Collective test starting: " + program + "\n";
    for (int rank = 0; rank < 16; ++rank)
      text += "#  Rank " + std::to_string(rank) + " Group  0 Pid 1 on node" + std::to_string(rank / 8) +
              " device " + std::to_string(rank % 8) + " [0x10] NVIDIA A100-SXM4-80GB\n";
    return text +
           "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
           "1048576 262144 float sum -1 250.5 4.19 7.85 0 260.5 4.03 7.55 0\n"
           "1073741824 268435456 float sum -1 9876 108.72 203.85 0 9886 108.61 203.65 0\n";
  }
};

TEST_F(ImportCommand, LogsBecomeAProfileThatRunTakes) {
  write("ar.log", log("all_reduce_perf"));
  write("ag.log.gz", gzipped(log("all_gather_perf")));
  const Outcome imported = stepcast("import ar.log ag.log.gz --as profile --scenario s.toml --out p.toml");
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_THAT(imported.err, HasSubstr("all_reduce on 16 ranks, 2 nodes, infiniband-200g: 2 sizes"));
  EXPECT_THAT(imported.err, HasSubstr("all_gather on 16 ranks"));
  // A measured size is returned as it was measured.
  const Outcome table = stepcast(
      "collectives s.toml --profile p.toml --op all_reduce --min 1G --max 1G --json t.json && cat t.json");
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("\"measured_points\": true"));
  EXPECT_THAT(table.out, HasSubstr("0.009876"));
}

TEST_F(ImportCommand, WithoutScenarioTheOptionsTellTheCluster) {
  write("ar.log", log("all_reduce_perf"));
  const Outcome asked = stepcast("import ar.log --as profile");
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_THAT(asked.err, HasSubstr("--fabric"));
  const Outcome told = stepcast("import ar.log --as profile --fabric roce-200g --link-rate '100 Gb/s'");
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("fabric = \"roce-200g\""));
  EXPECT_THAT(told.out, HasSubstr("link_rate = \"100 Gb/s\""));
  EXPECT_THAT(told.out, HasSubstr("measured_on = \"NVIDIA A100-SXM4-80GB; node0 node1\""));
  EXPECT_THAT(told.out, HasSubstr("[\"1048576 B\", \"250.5 us\"]"));
}

TEST_F(ImportCommand, ATraceIsShownAndItsFiguresBecomeAProfile) {
  TraceText trace;
  trace.step(1, 0, 1000)
      .kernel("ampere_sgemm_128x64_nn", 100, 100)
      .kernel(
          "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 300, 50, 20,
          "\"Collective name\": \"allreduce\", \"In msg nelems\": 1000000, \"Group size\": 16, \"dtype\": "
          "\"Float\"");
  write("t.json.gz", gzipped(trace.text(0, 16, "NVIDIA A100-SXM4-80GB")));
  const Outcome shown = stepcast("import t.json.gz --as profile --scenario s.toml --out p.toml");
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("mean of 1 steps of 1.00 ms"));
  EXPECT_THAT(shown.err, HasSubstr("[[collective]] all_reduce on 16 ranks, infiniband-200g: 1 sizes"));
  const Outcome run = stepcast("run s.toml --profile p.toml");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Outcome json = stepcast("import t.json.gz --as profile --json - --out p.toml");
  EXPECT_THAT(json.out, testing::StartsWith("{\n  \"schema\": \"stepcast.trace/1\""));
  // Without --out a trace is only shown.
  EXPECT_THAT(stepcast("import t.json.gz --as profile").out, Not(HasSubstr("[software]")));
  write("et.json", R"({"schema": "1.0.1", "nodes": []})");
  const Outcome wrong = stepcast("import et.json --as profile");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("et.json:1:1: error: this is an execution trace"));
}

TEST_F(ImportCommand, ATraceWithShapesBecomesAWorkloadThatRuns) {
  TraceText trace;
  trace.step(1, 0, 100000)
      .event(
          "cpu_op", "aten::linear", 30, 20,
          "\"Sequence number\": 3, \"Input Dims\": [[32, 64], [128, 64], [128]], \"Input type\": [\"float\"]")
      .kernel("ampere_sgemm_128x64_tn", 70, 10000, 7, "", 36)
      .event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 300, 20,
             "\"Sequence number\": 3", 2)
      .kernel("ampere_sgemm_128x64_nn", 10100, 20000, 7, "", 310, 2)
      .kernel("multi_tensor_apply", 40000, 5000, 7, "", 500);
  write("t.json", trace.text());
  const Outcome imported = stepcast("import t.json --as workload --out w.toml");
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_THAT(imported.err, HasSubstr("samples_per_micro_batch = 32"));
  write("w-run.toml",
        "title = \"w\"\n[model]\nworkload = \"w.toml\"\n[cluster]\nnodes = 1\nnode = \"dgx-a100-80g\"\n"
        "gpus_per_node = 1\n[training]\nstrategy = \"ddp\"\nmicro_batch_size = 32\nprecision = \"fp32\"\n");
  const Outcome run = stepcast("run w-run.toml --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Value json = parse_json(run.out, "stdout");
  const Value* breakdown = json.find("points")->array.at(0).find("breakdown");
  EXPECT_NEAR(breakdown->find("compute_s")->real, 0.030, 0.0005);  // 10 ms forward, 20 ms backward
  EXPECT_NEAR(breakdown->find("optimizer_s")->real, 0.005, 0.0005);
  write("bare.json", TraceText().kernel("gemm", 1, 2).text());
  const Outcome bare = stepcast("import bare.json --as workload");
  EXPECT_EQ(bare.exit_code, 2);
  EXPECT_THAT(bare.err, HasSubstr("no backward in the trace"));
}

TEST_F(ImportCommand, JsonIsOfTracesAsProfilesAndAMixNeedsAFile) {
  write("ar.log", log("all_reduce_perf"));
  write("t.json", TraceText().kernel("gemm", 1, 2).text());
  for (const char* words : {"ar.log --as profile --fabric roce-200g --json -",
                            "t.json --as workload --json -", "ar.log --as topology --json -"}) {
    const Outcome outcome = stepcast(std::string("import ") + words);
    EXPECT_EQ(outcome.exit_code, 2) << words;
    EXPECT_THAT(outcome.err, HasSubstr("--json is of traces as profiles")) << words;
    EXPECT_EQ(outcome.out, "") << words;
  }
  const std::string mix = "import t.json ar.log --as profile --fabric roce-200g";
  for (const char* more : {"", " --json -"}) {
    const Outcome outcome = stepcast(mix + more);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("need --out"));
    EXPECT_EQ(outcome.out, "");
  }
  const Outcome both = stepcast(mix + " --json - --out p.toml && cat p.toml");
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_THAT(both.out, testing::AllOf(HasSubstr("stepcast.trace/1"), HasSubstr("[[collective]]")));
}

TEST_F(ImportCommand, FaultsOfTracesHaveAPlace) {
  write("bad.json", "{\n\"traceEvents\" 1}");
  EXPECT_THAT(stepcast("import bad.json --as profile").err, HasSubstr("bad.json:2:15: error:"));
  write("empty.json", "");
  write("empty.json.gz", gzipped(""));
  for (const char* kind : {"profile", "workload"})
    for (const char* file : {"empty.json", "empty.json.gz"})
      EXPECT_THAT(stepcast(std::string("import ") + file + " --as " + kind).err,
                  HasSubstr(std::string(file) + ":1:1: error: the file is empty"));
}

TEST_F(ImportCommand, FaultsOfTheCommandLineAreNamed) {
  write("ar.log", log("all_reduce_perf"));
  write("empty.log", "# nothing\n");
  const auto error = [&](const std::string& words) {
    const Outcome outcome = stepcast("import " + words);
    EXPECT_EQ(outcome.exit_code, 2) << words;
    return outcome.err;
  };
  EXPECT_THAT(error("ar.log"), HasSubstr("as what?"));
  EXPECT_THAT(error("ar.log --as profle"), HasSubstr("did you mean \"profile\""));
  EXPECT_THAT(error("--as profile"), HasSubstr("which file?"));
  EXPECT_THAT(error("ar.log --as profile --fabric roce-2x"), HasSubstr("roce-2x"));
  EXPECT_THAT(error("ar.log --as profile --ranks none"), HasSubstr("--ranks"));
  EXPECT_THAT(error("ar.log --as profile --operation all_reduc"), HasSubstr("did you mean"));
  EXPECT_THAT(error("ar.log --as profile --out nowhere/p.toml"), HasSubstr("no folder"));
  EXPECT_THAT(error("empty.log gone.log --as profile"),
              testing::AllOf(HasSubstr("empty.log:1:1"), HasSubstr("gone.log")));
}

}  // namespace
}  // namespace stepcast
