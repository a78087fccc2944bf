#include "sim/training/activations.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "setting.hpp"

namespace stepcast {
namespace {

// 2 blocks of 2 products of width 1024 over 64 rows, bf16: each keeps 64 x 1024 x 2 bytes. The embedding's
// output likewise, the head 64 x 1024 logits.
constexpr double tensor = 64 * 1024 * 2.0;

ActivationMemory of(Checkpointing mode, Setting& setting) {
  setting.scenario.training.activation_checkpointing = mode;
  setting.with(chain_model(2, 1024));
  return activation_memory(setting.inputs());
}

TEST(ActivationMemory, AddsWhatTheOperatorsKeep) {
  Setting setting(Strategy::ddp, "pytorch-eager");
  const ActivationMemory memory = of(Checkpointing::none, setting);
  EXPECT_EQ(memory.kept, (std::vector<double>{tensor, 2 * tensor, 2 * tensor, tensor}));
  EXPECT_EQ(memory.recreated, (std::vector<double>(4, 0.0)));
  EXPECT_DOUBLE_EQ(memory.kept_through(2), 5 * tensor);
}

// A block keeps its output, which is the next one's input, and its whole set comes back while its backward
// runs.
TEST(ActivationMemory, FullCheckpointingKeepsBlockInputsAndRecreatesOneBlock) {
  Setting setting(Strategy::ddp, "pytorch-eager");
  const ActivationMemory memory = of(Checkpointing::full, setting);
  EXPECT_EQ(memory.kept, (std::vector<double>{tensor, tensor, tensor, tensor}));
  EXPECT_EQ(memory.recreated, (std::vector<double>{0, tensor, tensor, 0}));
}

TEST(ActivationMemory, EagerLossHoldsTwoFp32GradientsPerLogit) {
  Setting setting(Strategy::ddp, "pytorch-eager");
  const ActivationMemory memory = of(Checkpointing::none, setting);
  // pytorch-eager: the gradients of the log-softmax's output and of its input are alive at once, 4 + 4 bytes.
  ASSERT_FALSE(setting.profile().software.fused_cross_entropy);
  ASSERT_EQ(setting.profile().software.fusion, 0);
  EXPECT_DOUBLE_EQ(memory.logits_gradient, 64 * 1024 * 8.0);
}

// About 6 bytes a logit: 2 in bf16, 4 in fp32 (facts 5.1), by the model's own loss operator.
TEST(ActivationMemory, UnfusedLogitsTakeSixBytes) {
  Setting setting(Strategy::ddp, "pytorch-eager");
  setting.preset("gpt2");
  if (setting.profile().software.fused_cross_entropy) GTEST_SKIP() << "the profile fuses the loss";
  const ActivationMemory memory = activation_memory(setting.inputs());
  EXPECT_NEAR(memory.kept.back(), 6.0 * 1024 * 50257, 0.05 * 6.0 * 1024 * 50257);
}

TEST(ActivationMemory, MeasuredLayersSayTheirBytes) {
  Model model = chain_model(2, 1024);
  for (Layer& layer : model.layers) {
    layer.forward_time = layer.backward_time = Seconds(1e-3);
    layer.activation_bytes = Bytes(1000);
  }
  model.measured = MeasuredWorkload{};
  model.measured->samples_per_micro_batch = 1;
  Setting setting(Strategy::ddp, "stepcast-trainer");
  setting.scenario.training.micro_batch_size = 3;  // scale_compute
  setting.with(model);
  EXPECT_DOUBLE_EQ(activation_memory(setting.inputs()).kept_through(3), 3 * 4 * 1000);
}

}  // namespace
}  // namespace stepcast
