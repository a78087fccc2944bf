#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/validate/example_row.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

TEST(SkippedRows, SayWhatTheRowLacks) {
  EXPECT_EQ(reason({{"model", ""}}), "no model");
  EXPECT_EQ(reason({{"gpu", ""}}), "the GPU is not stated");
  EXPECT_EQ(reason({{"gpus_total", ""}}), "no GPU count");
  EXPECT_EQ(reason({{"micro_batch_per_gpu", ""}, {"grad_accum", ""}, {"global_batch_sequences", ""}}),
            "no batch size");
  EXPECT_EQ(reason({{"metric_value", ""}}), "no rate");
  EXPECT_THAT(reason({{"precision", ""}}), HasSubstr("not stated"));
}

TEST(SkippedRows, SayWhatIsUnknown) {
  EXPECT_EQ(reason({{"model", "SSD300"}}), "model SSD300 is not of a known family");
  EXPECT_EQ(reason({{"gpu", "T4"}}), "GPU T4 has no profile");
  EXPECT_EQ(reason({{"gpu", "RTX 3080 Max-Q"}}), "GPU RTX 3080 Max-Q has no profile");
  EXPECT_EQ(reason({{"gpu", "A800-80GB"}}), "GPU A800-80GB has no profile");
  EXPECT_EQ(reason({{"framework", "TensorFlow"}}), "framework TensorFlow has no software profile yet");
  EXPECT_EQ(reason({{"model", "GPT 200B"}, {"layers", ""}}),
            "model GPT 200B: the shape is not stated (layers is empty)");
  EXPECT_THAT(reason({{"inter_node_link", "Infiniband, Ethernet"}}),
              HasSubstr("which one trains is not stated"));
}

TEST(SkippedRows, SayWhatIsNotBuiltYet) {
  EXPECT_EQ(reason({{"tp", "4"}}), "tensor parallel 4 is not built yet");
  EXPECT_EQ(reason({{"pp", "12"}}), "pipeline parallel 12 is not built yet");
  EXPECT_EQ(reason({{"parallelism", "DP4 TP8 PP1"}}), "model parallelism (DP4 TP8 PP1) is not built yet");
  EXPECT_EQ(reason({{"offload", "optimizer on CPU"}}), "CPU offload is not built yet");
  EXPECT_EQ(reason({{"model", "Llama-2-70B LoRA fine-tuning"}}), "LoRA is not built yet");
  EXPECT_EQ(reason({{"zero_stage_or_sharding", "ZeRO++ (qwZ+hpZ+qgZ)"}}), "ZeRO++ is not built yet");
  EXPECT_EQ(reason({{"precision", "NVFP4 (bf16 tail)"}}), "precision NVFP4 (bf16 tail) is not built yet");
}

TEST(SkippedRows, RatesThatAreNoStepsAreNamed) {
  EXPECT_EQ(reason({{"metric_name", "time_to_train"}, {"metric_unit", "min"}}),
            "time to train only: no step time");
  EXPECT_EQ(reason({{"metric_name", "gain_pct"}, {"metric_unit", "%"}}),
            "a ratio (gain_pct), not an absolute rate");
  EXPECT_EQ(reason({{"metric_name", "mem_per_gpu"}, {"metric_unit", "GB"}}), "memory only, no rate");
  EXPECT_EQ(reason({{"metric_unit", "TFLOP/s/GPU"}}), "TFLOP/s by a formula that is not known");
}

TEST(SkippedRows, BatchesThatDoNotDivideAreNamed) {
  EXPECT_THAT(reason({{"global_batch_sequences", "126"}}), HasSubstr("no multiple of micro-batch 8"));
  EXPECT_THAT(reason({{"micro_batch_per_gpu", "16 and 18"}}), HasSubstr("not a number: \"16 and 18\""));
  EXPECT_THAT(reason({{"gpus_total", "12"}}), HasSubstr("do not fill nodes of 8 alike"));
}

}  // namespace
}  // namespace stepcast
