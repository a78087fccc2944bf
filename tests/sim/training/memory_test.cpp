#include <gtest/gtest.h>

#include "setting.hpp"

namespace stepcast {
namespace {

/// One block with one weight of 64,000 x 109,375 = 7e9 elements: 64 ranks divide its rows.
Model seven_billion() {
  Model model = chain_model(1, 1024);
  model.layers = {model.layers[1]};
  model.layers[0].first_equal = 0;
  model.layers[0].parameters = {{"weight", {64000, 109375}}};
  model.layers[0].operators[0].parameters = {0};
  model.layers[0].operators.resize(1);
  model.logits_elements = 0;
  return model;
}

double states(Strategy strategy, const std::string& software, int nodes = 8) {
  Setting setting(strategy, software, nodes);
  const MemoryReport memory = setting.with(seven_billion()).plan().memory;
  return (memory.parameters + memory.gradients + memory.optimizer).value / 1e9;
}

// Psi = 7e9, n = 64: 16 Psi; 4 Psi + 12 Psi / n; 2 Psi + 14 Psi / n; 16 Psi / n.
TEST(Memory, I21_ModelStatesOfMixedPrecisionAdam) {
  EXPECT_DOUBLE_EQ(states(Strategy::ddp, "deepspeed"), 112.0);
  EXPECT_DOUBLE_EQ(states(Strategy::zero1, "deepspeed"), 29.3125);
  EXPECT_DOUBLE_EQ(states(Strategy::zero2, "deepspeed"), 15.53125);
  EXPECT_DOUBLE_EQ(states(Strategy::zero3, "deepspeed"), 1.75);
  EXPECT_DOUBLE_EQ(states(Strategy::fsdp, "pytorch-compiled"), 1.75);
  EXPECT_DOUBLE_EQ(states(Strategy::ddp, "pytorch-compiled"), 112.0) << "fp32 autocast: 4 + 4 + 8";
}

TEST(Memory, I21_OnOneRankAllAreSixteenBytes) {
  for (const Strategy strategy : {Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3}) {
    Setting setting(strategy, "deepspeed", 1, 1);
    const MemoryReport memory = setting.with(seven_billion()).plan().memory;
    EXPECT_DOUBLE_EQ((memory.parameters + memory.gradients + memory.optimizer).value, 112e9)
        << name_of(strategy);
  }
}

// bf16 parameters and fp32 gradients: 18 bytes, and 6 + 12 / d with the distributed optimizer.
TEST(Memory, I32_MegatronHoldsEighteenBytesOrSixAndTwelveOverD) {
  EXPECT_DOUBLE_EQ(states(Strategy::ddp, "megatron-core"), 7 * 18.0);
  EXPECT_DOUBLE_EQ(states(Strategy::zero1, "megatron-core", 1), 7 * 7.5);
  EXPECT_DOUBLE_EQ(states(Strategy::zero1, "megatron-core"), 7 * 6.1875);
}

// 1 GPU of 8 nodes x 8: HSDP cuts over a node's 8 only.
TEST(Memory, HsdpDividesByItsShardDegree) {
  EXPECT_DOUBLE_EQ(states(Strategy::hsdp, "pytorch-compiled"), 112.0 / 8);
}

TEST(Memory, SgdKeepsOneMoment) {
  Setting setting(Strategy::ddp, "pytorch-compiled");
  setting.scenario.training.optimizer = OptimizerKind::sgd;
  EXPECT_DOUBLE_EQ(setting.with(seven_billion()).plan().memory.optimizer.value, 4 * 7e9);
}

// Rows 1001 over 8 ranks: 126 each, at most 8 - 1 rows more than there are in all.
TEST(Memory, I25_ShardsAreEqualAndTheirSumExceedsTheParametersByLessThanRanksRows) {
  Model odd = seven_billion();
  odd.layers[0].parameters = {{"weight", {1001, 3}}};
  Setting fsdp(Strategy::fsdp, "pytorch-compiled"), zero3(Strategy::zero3, "deepspeed");
  EXPECT_DOUBLE_EQ(fsdp.with(odd).plan().memory.parameters.value, 4 * 126 * 3);
  // ceil(3003 / 8) = 376 elements of 2 bytes.
  EXPECT_DOUBLE_EQ(zero3.with(odd).plan().memory.parameters.value, 2 * 376);
}

TEST(Memory, I41_PartsAddUpToThePeakWhichIsAtLeastTheStates) {
  for (const auto& [strategy, software] : {std::pair(Strategy::ddp, "pytorch-compiled"),
                                           {Strategy::zero1, "deepspeed"},
                                           {Strategy::zero2, "deepspeed"},
                                           {Strategy::zero3, "deepspeed"},
                                           {Strategy::fsdp, "pytorch-compiled"}}) {
    Setting setting(strategy, software);
    setting.scenario.training.micro_batch_size = 8;
    const MemoryReport memory = setting.preset("gpt2").plan().memory;
    const Bytes sum = memory.parameters + memory.gradients + memory.optimizer + memory.activations +
                      memory.buffers + memory.slack + memory.framework;
    EXPECT_DOUBLE_EQ(sum.value, memory.peak().value);
    EXPECT_GT(memory.activations.value, 0);
    EXPECT_GE(memory.allocated_peak(), memory.parameters + memory.gradients + memory.optimizer);
  }
}

// With the buffers taken away, each stage needs less than the one before.
TEST(Memory, I41_StatesFallFromStageToStageAndSmallModelsInvertThePeak) {
  std::vector<MemoryReport> stages;
  for (const Strategy strategy : {Strategy::zero1, Strategy::zero2, Strategy::zero3}) {
    Setting setting(strategy, "deepspeed");
    stages.push_back(setting.preset("gpt2").plan().memory);
  }
  const auto states_of = [](const MemoryReport& m) { return m.parameters + m.gradients + m.optimizer; };
  EXPECT_GT(states_of(stages[0]), states_of(stages[1]));
  EXPECT_GT(states_of(stages[1]), states_of(stages[2]));
  // 124e6 parameters: stage 2 adds the 1 GB bucket to the activations' peak, and saves less than that.
  EXPECT_GT(stages[1].allocated_peak(), stages[0].allocated_peak());
}

TEST(Memory, I42_TwiceTheMicroBatchDoublesActivationsAndLeavesStates) {
  Setting one(Strategy::ddp, "pytorch-compiled"), two(Strategy::ddp, "pytorch-compiled");
  two.scenario.training.micro_batch_size = 2;
  const MemoryReport a = one.preset("gpt2").plan().memory, b = two.preset("gpt2").plan().memory;
  EXPECT_EQ(a.peak_at, b.peak_at);
  EXPECT_NEAR(b.activations / a.activations, 2, 1e-12);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.gradients, b.gradients);
  EXPECT_EQ(a.optimizer, b.optimizer);
}

TEST(Memory, CheckpointingKeepsFewerActivations) {
  std::vector<double> bytes;
  for (const Checkpointing mode : {Checkpointing::none, Checkpointing::selective, Checkpointing::full}) {
    Setting setting(Strategy::fsdp, "pytorch-eager");
    setting.scenario.training.activation_checkpointing = mode;
    bytes.push_back(setting.preset("llama-3.1-8b", 4096).plan().memory.activations.value);
  }
  EXPECT_GT(bytes[0], bytes[1]);
  EXPECT_GT(bytes[1], bytes[2]);
}

// Buckets are a second copy of all gradients, 4 bytes each.
TEST(Memory, GradientViewsSaveTheBuckets) {
  Setting copies(Strategy::ddp, "pytorch-compiled"), views(Strategy::ddp, "pytorch-compiled");
  views.scenario.training.gradient_as_bucket_view = true;
  const MemoryReport a = copies.preset("gpt2").plan().memory, b = views.preset("gpt2").plan().memory;
  EXPECT_NEAR((a.buffers - b.buffers).value, 4 * 124439808.0, 1);
}

// NCCL's buffers are there as soon as there are two ranks, and twice under HSDP.
TEST(Memory, NcclTakesItsShareWithMoreThanOneRank) {
  Setting one(Strategy::ddp, "pytorch-compiled", 1, 1), eight(Strategy::ddp, "pytorch-compiled"),
      hsdp(Strategy::hsdp, "pytorch-compiled", 2);
  const double context = one.with(seven_billion()).plan().memory.framework.value;
  const double nccl = eight.profile().links.nccl_memory.value.value;
  // Reported in whole bytes.
  EXPECT_NEAR(eight.with(seven_billion()).plan().memory.framework.value, context + nccl, 1);
  EXPECT_NEAR(hsdp.with(seven_billion()).plan().memory.framework.value, context + 2 * nccl, 1);
}

// "Going from 8 to 32 GPUs with plain data parallelism leaves allocated memory the same; only sharding lowers
// it."
TEST(Memory, OnlyShardingNeedsLessWithMoreGpus) {
  Setting ddp8(Strategy::ddp, "pytorch-compiled"), ddp32(Strategy::ddp, "pytorch-compiled", 4),
      fsdp8(Strategy::fsdp, "pytorch-compiled"), fsdp32(Strategy::fsdp, "pytorch-compiled", 4);
  EXPECT_EQ(ddp8.preset("gpt2").plan().memory.allocated_peak(),
            ddp32.preset("gpt2").plan().memory.allocated_peak());
  EXPECT_GT(fsdp8.preset("gpt2").plan().memory.allocated_peak(),
            fsdp32.preset("gpt2").plan().memory.allocated_peak());
}

}  // namespace
}  // namespace stepcast
