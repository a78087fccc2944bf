#include "sim/report/facts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/sim/report/question.hpp"

namespace stepcast {
namespace {

// V100: 125 Tflop/s of fp16 on tensor cores, no bf16; products run at 15.7 Tflop/s of fp32, which mfu must
// refer to: against the tensor cores' peak it would be 8 times smaller.
TEST(Predictor, APrecisionWithoutUnitsIsToldAndMfuIsAgainstWhatIsUsed) {
  const Report report =
      answer({{"cluster.node", "dgx-1-v100-32g"}, {"training.precision", "bf16,fp16,fp32"}});
  EXPECT_EQ(warnings_with(report.points[0], "units"),
            "v100-sxm2-32g has no bf16 units: products run at the fp32 rate, and mfu and hfu are shares of "
            "the fp32 "
            "peak; fp16 would use its tensor cores");
  EXPECT_EQ(warnings_with(report.points[1], "units"), "");
  EXPECT_EQ(warnings_with(report.points[2], "units"), "");
  const GpuProfile gpu = load_profile("v100-sxm2-32g", "dgx-1-v100-32g", "pytorch-compiled", {}, {}).gpu;
  const double flops_of_fp32 =
      *report.points[2].mfu * report.points[2].step_time.value * gpu.peak.at(Dtype::fp32).value.value;
  const double flops_of_bf16 =
      *report.points[0].mfu * report.points[0].step_time.value * gpu.peak.at(Dtype::fp32).value.value;
  EXPECT_NEAR(flops_of_bf16 / flops_of_fp32, 1, 1e-9);
}

// A100: no fp8, products run in bf16, which are its tensor cores' already.
TEST(Facts, AGpuWithoutFp8ComputesInBf16) {
  const Report report = answer({{"training.precision", "fp8"}});
  EXPECT_EQ(
      warnings_with(report.points[0], "units"),
      "a100-sxm-80g has no fp8 units: products run at the bf16 rate, and mfu and hfu are shares of the bf16 "
      "peak");
}

TEST(Facts, AWorkloadMeasuredInAnotherPrecisionIsTold) {
  const std::string path = testing::TempDir() + "/facts-" + std::to_string(::getpid()) + "-workload.toml";
  std::ofstream(path) << R"([workload]
name = "w"
samples_per_micro_batch = 4
precision = "fp16"
optimizer_time = "1 ms"
source = "test"
[[layer]]
name = "a"
parameters = [{ name = "weight", shape = [1024, 1024] }]
forward_time = "1 ms"
backward_time = "2 ms"
activation_bytes = "1 MB"
)";
  const std::string scenario = testing::TempDir() + "/facts-" + std::to_string(::getpid()) + "-scenario.toml";
  std::ofstream(scenario) << "[model]\nworkload = \"" << path << R"("
[cluster]
node = "dgx-a100-80g"
[training]
strategy = "ddp"
micro_batch_size = 4
)";
  const Report report = run(load_scenario(scenario, {{"training.precision", "bf16,fp16"}}), {});
  EXPECT_EQ(
      warnings_with(report.points[0], "measured in"),
      "the workload was measured in fp16 and training.precision is bf16: its times are used as measured, "
      "sizes follow training.precision");
  EXPECT_EQ(warnings_with(report.points[1], "measured in"), "");
  EXPECT_FALSE(report.points[1].mfu);
}

std::string network_origin(const PointReport& point) {
  for (const auto& [name, text] : point.origins) {
    if (name == "network") return text;
  }
  return "none";
}

/// What the origin becomes with one measured all-reduce of 2 nodes.
std::string origin_with(int ranks, const std::string& points, const std::string& strategy) {
  const std::string path = testing::TempDir() + "/facts-" + std::to_string(::getpid()) + "-profile.toml";
  std::ofstream(path)
      << "[[collective]]\noperation = \"all_reduce\"\nfabric = \"infiniband-200g\"\nnodes = 2\n"
      << "ranks = " << ranks << "\npoints = " << points << "\nsource = \"test\"\n";
  return network_origin(run(question({{"training.strategy", strategy}}, {path}), {}).points[0]);
}

// DDP's buckets of the question are 25 to 100 MB on 16 ranks.
TEST(Facts, TheNetworkIsMeasuredOnlyWhereACollectiveOfTheStepFollowsMeasuredPoints) {
  const std::string around = R"([["1 MB", "1 ms"], ["1 GB", "20 ms"]])";
  const std::string below = R"([["1 KB", "50 us"], ["2 KB", "51 us"]])";
  EXPECT_EQ(network_origin(answer({}).points[0]), "published");
  EXPECT_EQ(origin_with(16, around, "ddp"), "measured");
  EXPECT_EQ(origin_with(16, below, "ddp"), "extrapolated");  // only the ratio at 2 KB is used
  EXPECT_EQ(origin_with(8, around, "ddp"), "extrapolated");  // measured with other ranks
  EXPECT_EQ(origin_with(16, around, "fsdp"), "published");   // has no all-reduce between nodes
  EXPECT_EQ(network_origin(answer({{"cluster.fabric", "infiniband-250g"}}).points[0]), "extrapolated");
  EXPECT_EQ(network_origin(answer({{"cluster.nodes", "1"}}).points[0]), "");
}

TEST(Facts, AnUnknownGpuOfANodeFileIsToldWhereTheScenarioNamesTheNode) {
  const std::string node = testing::TempDir() + "/facts-" + std::to_string(::getpid()) + "-node.toml";
  const std::string shipped = std::string(STEPCAST_SOURCE_DIR) + "/topology/presets/nodes/dgx-a100-80g.toml";
  std::ifstream in(shipped);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::size_t at = text.find("a100-sxm-80g");
  ASSERT_NE(at, std::string::npos);
  std::ofstream(node) << text.replace(at, 12, "a100-sxm-81g");
  const std::string scenario =
      testing::TempDir() + "/facts-" + std::to_string(::getpid()) + "-unknown_gpu.toml";
  std::ofstream(scenario) << "[model]\npreset = \"gpt2\"\n[cluster]\nnode = \"" << node << R"("
[training]
strategy = "ddp"
)";
  try {
    (void)run(load_scenario(scenario, {}), {});
    FAIL() << "an unknown GPU was taken";
  } catch (const ScenarioError& error) {
    const SourcePlace& place = error.diagnostics().front().place;
    EXPECT_EQ(place.file, scenario);
    EXPECT_EQ(place.line, 4U);
    EXPECT_EQ(place.column, 8U);
  }
}

}  // namespace
}  // namespace stepcast
