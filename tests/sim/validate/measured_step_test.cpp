#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/validate/model_flops.hpp"
#include "tests/sim/validate/example_row.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

double step(Cells changes) { return mapped(changes).measured.value; }

// 128 sequences x 2048 tokens = 262,144 tokens; at 10,000 tokens/s on each of 16 GPUs: 1.6384 s.
TEST(MeasuredStep, TokensASecondAndGpu) { EXPECT_NEAR(step({}), 1.6384, 1e-9); }

// The same 262,144 tokens at 10,000 tokens/s in all: 26.2144 s.
TEST(MeasuredStep, TokensASecondOfAllGpus) {
  EXPECT_NEAR(step({{"metric_name", "tokens_per_sec"}, {"metric_unit", "tok/s (all GPUs)"}}), 26.2144, 1e-9);
}

// 128 sequences at 64 a second: 2 s.
TEST(MeasuredStep, SamplesASecond) {
  EXPECT_NEAR(step({{"metric_value", "64"}, {"metric_unit", "samples/s (all GPUs)"}}), 2, 1e-9);
  EXPECT_NEAR(
      step({{"metric_name", "throughput_total"}, {"metric_value", "64"}, {"metric_unit", "sentences/s"}}), 2,
      1e-9);
}

// 128 sequences at 4 a second on each of 16 GPUs: 2 s.
TEST(MeasuredStep, SamplesASecondAndGpu) {
  EXPECT_NEAR(step({{"metric_value", "4"}, {"metric_unit", "samples/s/GPU"}}), 2, 1e-9);
  EXPECT_NEAR(step({{"metric_value", "4"}, {"metric_unit", "1/s per GPU"}}), 2, 1e-9);
}

TEST(MeasuredStep, SecondsAndMilliseconds) {
  EXPECT_NEAR(step({{"metric_name", "step_time"}, {"metric_value", "1.5"}, {"metric_unit", "s"}}), 1.5,
              1e-12);
  EXPECT_NEAR(step({{"metric_name", "step_time"}, {"metric_value", "1500"}, {"metric_unit", "ms"}}), 1.5,
              1e-12);
}

TEST(MeasuredStep, TheColumnServesWhereTheMetricIsNoRate) {
  EXPECT_NEAR(
      step({{"metric_name", "mfu"}, {"metric_unit", "%"}, {"metric_value", "40"}, {"step_time_s", "2.5"}}),
      2.5, 1e-12);
}

// 1.6384 s by the rate: 1.65 s in the column agrees within 5 %, 2 s does not.
TEST(MeasuredStep, AColumnThatContradictsTheRateIsSkipped) {
  EXPECT_NEAR(step({{"step_time_s", "1.65"}}), 1.6384, 1e-9);
  EXPECT_THAT(reason({{"step_time_s", "2"}}), HasSubstr("contradicts itself"));
}

// llm-foundry: (6 x 1.3e9 + 12 x 24 x 2048 x 2048) x 2048 = 1.84483e13 FLOPs a sequence, x 128; at 100
// TFLOP/s on each of 16 GPUs: 1.47586 s.
TEST(MeasuredStep, TeraflopsByTheSourcesFormula) {
  const double sequence = (6 * 1.3e9 + 12.0 * 24 * 2048 * 2048) * 2048;
  EXPECT_NEAR(step({{"source", "mosaicml/llm-foundry"},
                    {"metric_name", "tflops_per_gpu"},
                    {"metric_unit", "TFLOP/s/GPU"},
                    {"metric_value", "100"}}),
              sequence * 128 / (100e12 * 16), 1e-9);
  EXPECT_NEAR(sequence, 1.84483e13, 1e8);
}

// 96 s L h^2 (1 + s / 6h + V / 16 L h) with s = h = 2048, L = 24, V = 49152:
// 96 x 2048^3 x 24 x (1 + 1/6 + 49152 / (16 x 24 x 2048)) = 96 x 24 x 2048^3 x (1 + 1/6 + 1/16).
TEST(ModelFlops, MegatronsFormulaWithAndWithoutRecomputation) {
  MeasuredRow row = example_row({{"vocab", "49152"}});
  const double cube = 2048.0 * 2048 * 2048 * 24;
  EXPECT_NEAR(flops_by_formula("megatron with recomputation", row, 2048)->value,
              96 * cube * (1 + 1 / 6.0 + 1 / 16.0), 1e3);
  EXPECT_NEAR(flops_by_formula("megatron", row, 2048)->value, 72 * cube * (1 + 1 / 6.0 + 1 / 12.0), 1e3);
  EXPECT_FALSE(flops_by_formula("another", row, 2048).has_value());
}

}  // namespace
}  // namespace stepcast
