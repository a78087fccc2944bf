#include "sim/cost/attention.hpp"

#include <gtest/gtest.h>

#include "csv_rows.hpp"
#include "residual.hpp"
#include "shipped.hpp"

namespace stepcast {
namespace {

/// 16k tokens in all and hidden size 2048, as in the FlashAttention charts.
struct Chart {
  Operator op;
  int samples;
};

Chart chart(int length, int head_dim, bool causal) {
  return {self_attention(2048 / head_dim, head_dim, length, causal), 16384 / length};
}

/// TFLOP/s in the charts' convention: 4 heads length^2 head_dim, halved when causal; backward 2.5 times
/// forward.
double chart_tflops(const Seconds& time, const Chart& point, double passes) {
  return point.samples * forward_flops(point.op).value * passes / time.value / 1e12;
}

double fused(const GpuProfile& gpu, const char* kernel, const Chart& point, const std::string& pass) {
  const auto& figures = gpu.attention.at(kernel);
  const Seconds forward =
      fused_attention(gpu, figures, point.op, Pass::forward, point.samples, Dtype::bf16).time;
  const Seconds backward =
      fused_attention(gpu, figures, point.op, Pass::backward, point.samples, Dtype::bf16).time;
  if (pass == "fwd") return chart_tflops(forward, point, 1);
  if (pass == "bwd") return chart_tflops(backward, point, 2.5);
  return chart_tflops(forward + backward, point, 3.5);
}

// FlashAttention-2 on A100, forward and backward, 4096 tokens, head size 128: 196 TFLOP/s, causal 173.
TEST(FusedAttention, MatchesTheFlashAttention2ChartOnA100) {
  const GpuProfile gpu = shipped("a100-sxm-80g").gpu;
  EXPECT_NEAR(fused(gpu, "flash", chart(4096, 128, false), "fwd+bwd"), 196, 6);
  EXPECT_NEAR(fused(gpu, "flash", chart(4096, 128, true), "fwd+bwd"), 173, 6);
  EXPECT_NEAR(fused(gpu, "flash", chart(1024, 64, true), "fwd+bwd"), 119, 6);
}

// FlashAttention-3 on H100, 8192 tokens, head size 128: forward 646 TFLOP/s, backward 559 (arXiv 2407.08608,
// figure 6).
TEST(FusedAttention, MatchesTheFlashAttention3ChartsOnH100) {
  const GpuProfile gpu = shipped("h100-sxm").gpu;
  EXPECT_NEAR(fused(gpu, "flash3", chart(8192, 128, false), "fwd"), 646, 40);
  EXPECT_NEAR(fused(gpu, "flash3", chart(8192, 128, false), "bwd"), 559, 30);
  EXPECT_NEAR(fused(gpu, "flash3", chart(512, 64, false), "bwd"), 272, 40);
}

// Backward executes 2.5 times the forward's FLOPs, but reports the two products a forward product stands for.
TEST(FusedAttention, ReportsFlopsByTheModelsConvention) {
  const GpuProfile gpu = shipped("h100-sxm").gpu;
  const Operator op = self_attention(16, 128, 1024, true);
  const Kernel forward = fused_attention(gpu, gpu.attention.at("flash"), op, Pass::forward, 2, Dtype::bf16);
  const Kernel backward = fused_attention(gpu, gpu.attention.at("flash"), op, Pass::backward, 2, Dtype::bf16);
  // 2 samples * 4 * 16 heads * 1024^2 * 128 / 2 (causal)
  EXPECT_DOUBLE_EQ(forward.flops.value, 2 * 4.0 * 16 * 1024 * 1024 * 128 / 2);
  EXPECT_DOUBLE_EQ(backward.flops.value, 2 * forward.flops.value);
}

TEST(FusedAttention, IsFasterThanEagerOnLongSequences) {
  const Profile profile = shipped("a100-sxm-80g", "pytorch-eager");
  const Chart point = chart(4096, 128, false);
  Work eager;
  eager.kernels = eager_attention(profile.gpu, profile.software, point.op, Pass::forward, point.samples,
                                  Dtype::bf16, teraflops(270));
  const Seconds flash = fused_attention(profile.gpu, profile.gpu.attention.at("flash"), point.op,
                                        Pass::forward, point.samples, Dtype::bf16)
                            .time;
  EXPECT_GT(eager.duration(108, 0).value, 2 * flash.value);
}

TEST(AttentionResidual, HoldsOnThePublishedCharts) {
  const auto rows = csv_rows(STEPCAST_SOURCE_DIR "/../shared/data/compute/attention.csv");
  if (rows.empty()) GTEST_SKIP() << "no table of published attention kernels beside the project";
  Residual a100, h100, h100_forward, flash3, efficient, eager;
  const Profile a = shipped("a100-sxm-80g", "pytorch-eager");
  const Profile h = shipped("h100-sxm", "pytorch-eager");
  for (auto row : rows) {
    const bool on_a100 = row["gpu"] == "A100 80GB SXM4", on_h100 = row["gpu"] == "H100 80GB SXM5";
    if (!on_a100 && !on_h100) continue;
    const Profile& profile = on_a100 ? a : h;
    const Chart point = chart(std::stoi(row["seqlen"]), std::stoi(row["head_dim"]), row["causal"] == "1");
    const double tflops = std::stod(row["tflops"]);
    const std::string &impl = row["impl"], &pass = row["pass"];
    if (impl == "FlashAttention-2") {
      (on_a100         ? a100
       : pass == "fwd" ? h100_forward
                       : h100)
          .add(fused(profile.gpu, "flash", point, pass), tflops);
    } else if (impl == "FlashAttention-3") {
      flash3.add(fused(profile.gpu, "flash3", point, pass), tflops);
    } else if (impl == "xformers") {
      efficient.add(fused(profile.gpu, "efficient", point, pass), tflops);
    } else if (impl == "PyTorch" || impl == "standard") {
      const CostModel cost(profile.gpu, [&] {
        SoftwareProfile software = profile.software;
        software.attention_kernel = "eager";
        return software;
      }());
      Seconds time =
          cost.operator_work(point.op, Pass::forward, point.samples, {}).duration(profile.gpu.sms, 0);
      if (pass == "fwd+bwd") {
        time += cost.operator_work(point.op, Pass::backward, point.samples, {}).duration(profile.gpu.sms, 0);
      }
      eager.add(chart_tflops(time, point, pass == "fwd" ? 1 : 3.5), tflops);
    }
  }
  a100.print("A100 FlashAttention-2, fwd+bwd");
  h100.print("H100 FlashAttention-2, fwd+bwd");
  h100_forward.print("H100 FlashAttention-2, fwd, head sizes 64-256");
  flash3.print("H100 FlashAttention-3, fwd, head sizes 64-256");
  efficient.print("A100 xformers, fwd+bwd");
  eager.print("A100 and H100 plain PyTorch");
  EXPECT_LT(a100.p90(), 0.05);
  EXPECT_LT(h100.p90(), 0.08);
  EXPECT_LT(h100_forward.p90(), 0.2);
  EXPECT_LT(flash3.p90(), 0.2);
  EXPECT_LT(efficient.p90(), 0.1);
  EXPECT_LT(eager.median(), 0.25);
}

}  // namespace
}  // namespace stepcast
