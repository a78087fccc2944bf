#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.hpp"
#include "tests/cli/program.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

class ValidateCommand : public CommandLine {
 protected:
  /// The design's header, and `rows` after it.
  static std::string table(const std::string& rows) {
    return "source,source_url_or_path,commit_or_date,gpu,gpus_total,gpus_per_node,intra_node_link,inter_node_"
           "link,"
           "inter_node_gbps_per_gpu,model,params_b,layers,hidden,heads,kv_heads,ffn_hidden,vocab,seq_len,"
           "experts,topk,"
           "framework,parallelism,zero_stage_or_sharding,tp,pp,cp,ep,vpp,micro_batch_per_gpu,grad_accum,"
           "global_batch_sequences,precision,activation_checkpoint,attention_kernel,torch_compile,offload,"
           "metric_name,"
           "metric_value,metric_unit,mfu_pct,hfu_pct,step_time_s,mem_per_gpu_gb,notes\n" +
           rows;
  }
  /// A note with a line break in it, so that the next record starts two lines further.
  static constexpr const char* gpt2 =
      "me,page,2024,A100-80GB,8,8,NVSwitch,,,GPT-2,0.124,12,768,12,12,3072,50257,1024,,,PyTorch "
      "DDP,DP8,DDP,1,1,1,1,,"
      "16,1,128,BF16,none,SDPA,no,none,samples_per_sec,1000,samples/s,,,,,\"two\nlines\"\n";
  static constexpr const char* ssd =
      "me,page,2024,A100-80GB,8,8,NVSwitch,,,SSD300,,,,,,,,,,,PyTorch,DP8,DDP,,,,,,16,1,128,FP16,,,,,images_"
      "per_sec,"
      "1000,images/s,,,,,\n";
};

TEST_F(ValidateCommand, WithoutDataItSaysWhichCsvIsExpected) {
  const Outcome outcome = stepcast("validate");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("--data FILE.csv is missing"));
  EXPECT_THAT(outcome.err, HasSubstr("stepcast validate --data measured.csv"));
}

TEST_F(ValidateCommand, OptionsOfLaterIssuesAreKnown) {
  for (const char* option : {"--anchor", "--plot x.svg"}) {
    const Outcome outcome = stepcast(std::string("validate --data t.csv ") + option);
    EXPECT_EQ(outcome.exit_code, 2) << option;
    EXPECT_THAT(outcome.err, HasSubstr("known, not built yet")) << option;
  }
}

TEST_F(ValidateCommand, AMissingColumnIsAFaultOfTheFileAsItWasGiven) {
  write("t.csv", "source,gpu\n");
  const Outcome outcome = stepcast("validate --data ./t.csv");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("./t.csv:1:1: error: column \"model\" is missing"));
}

// 128 samples a step at 1000 samples a second: 0.128 s. The SSD row starts on line 4, since GPT-2's takes two
// lines.
TEST_F(ValidateCommand, JsonOnStdoutIsTheOnlyThingThere) {
  write("t.csv", table(std::string(gpt2) + ssd));
  const Outcome outcome = stepcast("validate --data t.csv --json -");
  EXPECT_EQ(outcome.exit_code, 0);
  const Value json = parse_json(outcome.out, "stdout");
  EXPECT_EQ(json.find("schema")->string, "stepcast.validation/1");
  ASSERT_EQ(json.find("rows")->array.size(), 1u);
  const Value& row = json.find("rows")->array[0];
  EXPECT_EQ(row.find("file")->string, "t.csv");
  EXPECT_EQ(row.find("line")->integer, 2);
  EXPECT_NEAR(row.find("measured")->real, 0.128, 1e-12);
  EXPECT_NEAR(row.find("relative_error")->real, row.find("predicted")->real / 0.128 - 1, 1e-9);
  ASSERT_EQ(json.find("skipped")->array.size(), 1u);
  EXPECT_EQ(json.find("skipped")->array[0].find("line")->integer, 4);
}

TEST_F(ValidateCommand, WritesTheTableJsonCsvAndPage) {
  write("t.csv", table(gpt2));
  const Outcome outcome = stepcast("validate --data t.csv --json r.json --csv r.csv --docs r.md");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("1 of 1 measurements predicted, 0 skipped"));
  EXPECT_THAT(read("r.json"), HasSubstr("stepcast.validation/1"));
  EXPECT_THAT(read("r.csv"), HasSubstr("t.csv,2,me,gpt2,a100-sxm-80g,8,pytorch-eager,ddp,0.128,"));
  EXPECT_THAT(read("r.md"), HasSubstr("`stepcast validate --data t.csv"));
}

// 1 GiB at 200 GB/s of algorithm bandwidth are 5.37 ms; the second row is a loopback.
TEST_F(ValidateCommand, CollectivesGiveTheSameReport) {
  write(
      "c.csv",
      "set_id,source,url_or_path,date,gpu,nodes,gpus_per_node,intra_link,inter_network,nics_per_node,nic_"
      "gbps,"
      "transport,nccl_version,collective,dtype,bytes,time_us,algbw_GBps,busbw_GBps,in_place,env_notes\n"
      "mine,me,page,2024,H100-SXM5-80GB,2,8,NVSwitch,InfiniBand NDR,8,,ib,2.27,all_reduce,float32,1073741824,"
      "5368.7,200,375,0,\n"
      "loop,me,page,2024,H100,2,1,n/a,loopback,1,,tcp,2.27,all_reduce,float32,1048576,4400,,,0,\n");
  const Outcome outcome = stepcast("validate --collectives ./c.csv --json - --csv c-out.csv --docs c.md");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Value json = parse_json(outcome.out, "stdout");
  EXPECT_EQ(json.find("schema")->string, "stepcast.validation/1");
  ASSERT_EQ(json.find("rows")->array.size(), 1u);
  const Value& row = json.find("rows")->array[0];
  EXPECT_EQ(row.find("file")->string, "./c.csv");
  EXPECT_EQ(row.find("line")->integer, 2);
  EXPECT_NEAR(row.find("measured")->real, 5.3687e-3, 1e-9);
  EXPECT_NEAR(row.find("relative_error")->real, row.find("predicted")->real / 5.3687e-3 - 1, 1e-9);
  ASSERT_EQ(row.find("assumed")->array.size(), 1u);  // the cards' speed
  EXPECT_EQ(row.find("settings")->find("cluster.fabric")->string, "infiniband-400g");
  ASSERT_EQ(json.find("skipped")->array.size(), 1u);
  EXPECT_EQ(json.find("skipped")->array[0].find("line")->integer, 3);
  EXPECT_THAT(json.find("skipped")->array[0].find("reason")->string, HasSubstr("loopback"));
  EXPECT_THAT(read("c-out.csv"), HasSubstr("./c.csv,2,mine,all_reduce,h100-sxm,2,16,ib,1073741824,0,"));
  EXPECT_THAT(read("c.md"), HasSubstr("## Collectives"));
}

TEST_F(ValidateCommand, OneCsvFileHoldsRowsOfOneKind) {
  const Outcome outcome = stepcast("validate --data t.csv --collectives c.csv --csv out.csv");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("rows of one kind"));
}

}  // namespace
}  // namespace stepcast
