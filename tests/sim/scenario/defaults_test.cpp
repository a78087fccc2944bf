#include "sim/scenario/defaults.hpp"

#include <gtest/gtest.h>

#include "scenario_text.hpp"
#include "sim/scenario/keys.hpp"

namespace stepcast {
namespace {

Scenario read(const std::string& training) {
  std::string text = testing::plain_scenario;
  text.replace(text.find("strategy = \"ddp\"\n"), std::string("strategy = \"ddp\"\n").size(), training);
  const testing::ScenarioText file(text);
  return *expand(load_scenario(file.path(), {}))[0].scenario;
}

// Facts 1.6: autocast keeps parameters, gradients and the wire at 4 bytes.
TEST(Defaults, DdpUnderAutocastIsFp32OnTheWire) {
  const TrainingSection training = read("strategy = \"ddp\"\n").training;
  EXPECT_EQ(training.parameter_dtype, Dtype::fp32);
  EXPECT_EQ(training.gradient_dtype, Dtype::fp32);
  EXPECT_EQ(training.reduce_dtype, Dtype::fp32);
  EXPECT_FALSE(training.master_copy);
  EXPECT_EQ(training.gradient_sync, GradientSync::last);
}

TEST(Defaults, FsdpGathersAndReducesInTheComputeType) {
  const TrainingSection training = read("strategy = \"fsdp\"\n").training;
  EXPECT_EQ(training.software, "pytorch-compiled");
  EXPECT_EQ(training.parameter_dtype, Dtype::bf16);
  EXPECT_EQ(training.reduce_dtype, Dtype::bf16);
  EXPECT_EQ(training.gradient_dtype, Dtype::fp32);
  EXPECT_EQ(training.gradient_sync, GradientSync::every);
}

// Facts 3.5: 2 + 2 + 12 bytes.
TEST(Defaults, DeepSpeedHoldsBf16WithAMaster) {
  const TrainingSection training = read("strategy = \"zero2\"\n").training;
  EXPECT_EQ(training.software, "deepspeed");
  EXPECT_EQ(training.parameter_dtype, Dtype::bf16);
  EXPECT_EQ(training.gradient_dtype, Dtype::bf16);
  EXPECT_TRUE(training.master_copy);
  EXPECT_EQ(training.gradient_sync, GradientSync::every);
}

// Facts 4.1: bf16 parameters, fp32 gradients.
TEST(Defaults, MegatronReducesInFp32) {
  const TrainingSection training = read("strategy = \"zero1\"\nsoftware = \"megatron-core\"\n").training;
  EXPECT_EQ(training.parameter_dtype, Dtype::bf16);
  EXPECT_EQ(training.reduce_dtype, Dtype::fp32);
  EXPECT_TRUE(training.master_copy);
  EXPECT_EQ(training.gradient_sync, GradientSync::last);
}

TEST(Defaults, DeepSpeedZero2ReducesInEveryMicroBatch) {
  EXPECT_THROW((void)read("strategy = \"zero2\"\ngradient_sync = \"last\"\n"), ScenarioError);
  EXPECT_NO_THROW((void)read("strategy = \"fsdp\"\ngradient_sync = \"last\"\n"));
}

TEST(Defaults, HsdpShardsInsideTheNode) {
  EXPECT_EQ(read("strategy = \"hsdp\"\n").training.shard_degree, 8);
  EXPECT_THROW((void)read("strategy = \"hsdp\"\nshard_degree = 5\n"), ScenarioError);
}

TEST(Defaults, AKeyThatTheStrategyIgnoresIsANote) {
  const Scenario scenario = read("strategy = \"fsdp\"\nbucket_size = \"25 MiB\"\n");
  ASSERT_EQ(scenario.notes.size(), 1U);
  EXPECT_EQ(scenario.notes[0], "training.bucket_size is not used by fsdp under pytorch-compiled");
  EXPECT_FALSE(key_is_used("training.bucket_size", Strategy::fsdp, "pytorch-compiled"));
  EXPECT_TRUE(key_is_used("training.bucket_size", Strategy::ddp, "pytorch-compiled"));
}

TEST(Defaults, EverySpecialKeyIsReadAndUsedBySomeone) {
  const std::vector<std::string> software = {"pytorch-eager", "deepspeed", "megatron-core",
                                             "stepcast-trainer"};
  for (const SpecialKey& key : special_keys()) {
    bool used = false;
    for (int strategy = 0; strategy < 6; ++strategy) {
      for (const std::string& name : software) used = used || key.used(static_cast<Strategy>(strategy), name);
    }
    EXPECT_TRUE(used) << key.key;
  }
}

}  // namespace
}  // namespace stepcast
