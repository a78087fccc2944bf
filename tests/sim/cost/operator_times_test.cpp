// Measured times of single operators: where they hold, and what the model makes of them between the points.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/sim/cost/shipped.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MeasuredTimesOf : public testing::Test {
 protected:
  Profile load(const std::string& text, const std::string& gpu = "cpu-host",
               const std::string& software = "stepcast-trainer") {
    const auto path = std::filesystem::temp_directory_path() /
                      ("stepcast-times-" +
                       std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".toml");
    std::ofstream(path) << text;
    try {
      Profile profile = load_profile(gpu, gpu == "cpu-host" ? gpu : "hgx-h100", software, {path.string()},
                                     {"s.toml", 7, 3, 1, ""});
      std::filesystem::remove(path);
      return profile;
    } catch (...) {
      std::filesystem::remove(path);
      throw;
    }
  }
  std::vector<Diagnostic> faults_of(const std::string& text) {
    try {
      (void)load(text);
    } catch (const ScenarioError& error) {
      return error.diagnostics();
    }
    return {};
  }
  static CostOptions options_of(Dtype type) {
    return {.compute = type, .parameters = type, .gradients = Dtype::fp32};
  }
  static Seconds time_of(const Profile& profile, const Operator& op, Pass pass, int samples = 1,
                         Dtype type = Dtype::fp32) {
    const CostModel model(profile.gpu, profile.software);
    return model.operator_work(op, pass, samples, options_of(type)).duration(profile.gpu.sms, 0);
  }
};

constexpr const char* products = R"(
[[gemm]]
device = "cpu-host"
dtype = "fp32"
source = "a test"
points = [[256, 512, 1024, "nt", "7 ms"], [256, 1024, 512, "nn", "8 ms"], [512, 1024, 256, "tn", "9 ms"],
          [64, 512, 1024, "nt", "3 ms"]]
)";

TEST_F(MeasuredTimesOf, AProductOfAMeasuredShapeTakesTheMeasuredTimeInEachOfItsThreeLayouts) {
  const Profile profile = load(products);
  const Operator op = linear(256, 512, 1024);
  EXPECT_NEAR(time_of(profile, op, Pass::forward).value, 7e-3, 1e-12);
  // The input gradient multiplies 256 x 512 by 512 x 1024, the weight gradient 512 x 256 by 256 x 1024.
  EXPECT_NEAR(time_of(profile, op, Pass::backward).value, 8e-3 + 9e-3, 1e-12);
}

// Halfway (in the logarithm of the rows) between 64 and 256 rows both points weigh alike, so the ratio of
// measured to model is the geometric mean of theirs.
TEST_F(MeasuredTimesOf, BetweenShapesTheRatioToTheModelIsInterpolatedInLogSpace) {
  const Profile measured = load(products), bare = load("");
  const auto ratio = [&](double rows) {
    const Operator op = linear(rows, 512, 1024);
    return time_of(measured, op, Pass::forward) / time_of(bare, op, Pass::forward);
  };
  EXPECT_NEAR(ratio(128), std::sqrt(ratio(64) * ratio(256)), 1e-9);
}

TEST_F(MeasuredTimesOf, ALayoutWithoutPointsTakesTheRatioOfTheOthers) {
  const Profile measured = load(R"(
[[gemm]]
device = "cpu-host"
dtype = "fp32"
source = "a test"
points = [[256, 512, 1024, "nt", "7 ms"]]
)");
  const Profile bare = load("");
  const Operator op = linear(256, 512, 1024);
  const double forward = time_of(measured, op, Pass::forward) / time_of(bare, op, Pass::forward);
  const double backward = time_of(measured, op, Pass::backward) / time_of(bare, op, Pass::backward);
  EXPECT_NEAR(backward, forward, 1e-9);
}

// Wave and fixed part stretch with the time, so that a collective's SMs slow the product by as much as
// before.
TEST_F(MeasuredTimesOf, OnAGpuTheSlowdownUnderReservedSmsStaysThatOfTheModel) {
  const std::string text = R"(
[[gemm]]
device = "h100-sxm"
dtype = "bf16"
source = "a test"
points = [[4096, 4096, 4096, "nt", "0.5 ms"]]
)";
  const Operator op = linear(4096, 4096, 4096);
  const auto slowdown = [&](const Profile& profile) {
    const CostModel model(profile.gpu, profile.software);
    const Work work = model.operator_work(op, Pass::forward, 1, options_of(Dtype::bf16));
    return work.duration(profile.gpu.sms, 20) / work.duration(profile.gpu.sms, 0);
  };
  const Profile measured = load(text, "h100-sxm", "pytorch-eager");
  EXPECT_NEAR(time_of(measured, op, Pass::forward, 1, Dtype::bf16).value, 0.5e-3, 1e-12);
  EXPECT_NEAR(slowdown(measured), slowdown(load("", "h100-sxm", "pytorch-eager")), 1e-9);
}

Operator memory_operator(const std::string& name, double elements) {
  Operator op;
  op.name = name;
  op.memory.eager_forward = op.memory.fused_forward = {elements, 0, 0, 1, 0};
  op.memory.eager_backward = op.memory.fused_backward = {2 * elements, 0, 0, 3, 0};
  return op;
}

constexpr const char* kernels = R"(
[[kernel]]
device = "cpu-host"
software = "stepcast-trainer"
operation = "norm"
pass = "forward"
dtype = "fp32"
source = "a test"
points = [["1 MiB", "1 ms"], ["4 MiB", "5 ms"]]
[[kernel]]
device = "cpu-host"
operation = "norm"
pass = "backward"
dtype = "fp32"
source = "a test"
points = [["2 MiB", "3 ms"]]
[[kernel]]
device = "cpu-host"
operation = "copy"
source = "a test"
points = [["1 MiB", "0.2 ms"]]
[[kernel]]
device = "cpu-host"
operation = "adamw"
source = "a test"
points = [["28 MB", "20 ms"]]
)";

TEST_F(MeasuredTimesOf, AnOperatorThatMovesAMeasuredSizeTakesTheMeasuredTimeHoweverManyKernelsItHas) {
  const Profile profile = load(kernels);
  const double elements = 262144;  // 1 MiB in fp32; the backward moves 2 MiB
  EXPECT_NEAR(time_of(profile, memory_operator("mlp.norm", elements), Pass::forward).value, 1e-3, 1e-12);
  EXPECT_NEAR(time_of(profile, memory_operator("mlp.post_norm", elements), Pass::forward).value, 1e-3, 1e-12);
  EXPECT_NEAR(time_of(profile, memory_operator("mlp.norm", elements), Pass::backward).value, 3e-3, 1e-12);
}

TEST_F(MeasuredTimesOf, BetweenSizesTheRatioToTheModelIsGeometricAndOutsideTheNearestHolds) {
  const Profile measured = load(kernels), bare = load("");
  const auto ratio = [&](double mebibytes) {
    const Operator op = memory_operator("norm", 262144 * mebibytes);
    return time_of(measured, op, Pass::forward) / time_of(bare, op, Pass::forward);
  };
  EXPECT_NEAR(ratio(2), std::sqrt(ratio(1) * ratio(4)), 1e-9);
  EXPECT_NEAR(ratio(64), ratio(4), 1e-9);
  EXPECT_NEAR(ratio(0.25), ratio(1), 1e-9);
}

// 28 bytes an element, a million elements: one kernel as measured. Two copies of 1 MiB: twice the measured
// one.
TEST_F(MeasuredTimesOf, CopiesAndTheOptimizerAreMeasuredByTheKernel) {
  const Profile profile = load(kernels);
  const CostModel model(profile.gpu, profile.software);
  EXPECT_NEAR(model.optimizer_work(1e6, 1, 28).duration(1, 0).value, 20e-3, 1e-12);
  EXPECT_NEAR(model.copy_work("bucket", mebibytes(2), 2).duration(1, 0).value, 0.4e-3, 1e-12);
}

TEST_F(MeasuredTimesOf, OperatorsAndTypesWithoutPointsKeepTheModelsTime) {
  const Profile measured = load(std::string(products) + kernels), bare = load("");
  for (const char* name : {"mlp.activation", "denorm", "attention.residual"}) {
    const Operator op = memory_operator(name, 1e5);
    EXPECT_EQ(time_of(measured, op, Pass::forward), time_of(bare, op, Pass::forward)) << name;
  }
  const Operator norm = memory_operator("mlp.norm", 1e5);
  EXPECT_EQ(time_of(measured, norm, Pass::forward, 1, Dtype::bf16),
            time_of(bare, norm, Pass::forward, 1, Dtype::bf16));
}

TEST_F(MeasuredTimesOf, AttentionOfAMeasuredShapeTakesTheMeasuredTime) {
  const std::string text = R"(
[[attention]]
device = "cpu-host"
kernel = "eager"
pass = "forward"
dtype = "fp32"
source = "a test"
points = [[2, 4, 32, 128, "6 ms"], [2, 4, 32, 512, "90 ms"]]
)";
  const Profile measured = load(text), bare = load("");
  const auto ratio = [&](std::int64_t length, int samples) {
    const Operator op = self_attention(4, 32, length, true);
    return time_of(measured, op, Pass::forward, samples) / time_of(bare, op, Pass::forward, samples);
  };
  EXPECT_NEAR(time_of(measured, self_attention(4, 32, 128, true), Pass::forward, 2).value, 6e-3, 1e-12);
  // One sample of 8 heads is the same work as two of 4.
  EXPECT_NEAR(time_of(measured, self_attention(8, 32, 128, true), Pass::forward, 1).value, 6e-3, 1e-12);
  EXPECT_NEAR(ratio(256, 2), std::sqrt(ratio(128, 2) * ratio(512, 2)), 1e-9);
  EXPECT_EQ(time_of(measured, self_attention(4, 32, 128, true), Pass::backward, 2),
            time_of(bare, self_attention(4, 32, 128, true), Pass::backward, 2));
}

// The loss kernel leaves the gradient in place of the logits. Forward moves 1 MiB and backward 2: together
// what was measured, and each its part by the model.
TEST_F(MeasuredTimesOf, OneKernelForBothPassesTakesTheMeasuredTimeInBothTogether) {
  const Profile measured = load(R"(
[[kernel]]
device = "cpu-host"
operation = "cross_entropy"
pass = "both"
dtype = "fp32"
source = "a test"
points = [["3 MiB", "9 ms"]]
)");
  const Profile bare = load("");
  const Operator op = memory_operator("loss.cross_entropy", 262144);
  const Seconds forward = time_of(measured, op, Pass::forward),
                backward = time_of(measured, op, Pass::backward);
  EXPECT_NEAR((forward + backward).value, 9e-3, 1e-12);
  EXPECT_NEAR(forward / backward, time_of(bare, op, Pass::forward) / time_of(bare, op, Pass::backward), 1e-9);
}

// 262144 elements that backward reads once: 2 MiB to read and write in forward.
TEST_F(MeasuredTimesOf, ABiasThatNoProductAddsIsAKernelOfItsOwn) {
  const Profile trainer = load(""), torch = load("", "cpu-host", "pytorch-eager");
  Operator op;
  op.name = "mlp.up.bias";
  op.memory.eager_backward = op.memory.fused_backward = {262144, 0, 0, 1, 0};
  EXPECT_EQ(time_of(torch, op, Pass::forward), Seconds(0));
  const double efficiency = trainer.software.memory_efficiency.value;
  EXPECT_NEAR(
      time_of(trainer, op, Pass::forward).value,
      2097152 / (efficiency * trainer.gpu.memory_rate.value.value) + trainer.gpu.memory_latency.value.value,
      1e-12);
}

TEST_F(MeasuredTimesOf, AnotherDeviceOrSoftwareIsNotedOnceAndNotUsed) {
  const Profile profile = load(std::string(products) + kernels, "h100-sxm", "pytorch-eager");
  EXPECT_TRUE(profile.gpu.measured.gemm.empty());
  EXPECT_TRUE(profile.gpu.measured.kernel.empty());
  EXPECT_THAT(profile.notes, ElementsAre(HasSubstr("[[gemm]] of \"cpu-host\" was not used"),
                                         HasSubstr("[[kernel]] of \"cpu-host\" was not used")));
  const Profile other = load(kernels, "cpu-host", "pytorch-eager");
  EXPECT_THAT(other.notes, ElementsAre(HasSubstr("[[kernel]] of \"stepcast-trainer\" was not used")));
  EXPECT_THAT(load(kernels).notes, IsEmpty());
}

TEST_F(MeasuredTimesOf, EveryFaultOfThePointsIsToldWithItsPlace) {
  const auto faults = faults_of(
      "[[gemm]]\ndevice = \"cpu-host\"\ndtype = \"fp32\"\nsource = \"a test\"\n"
      "points = [[256, 512, \"nt\", \"7 ms\"],\n"
      "          [0, 512, 1024, \"nt\", \"7 ms\"],\n"
      "          [256, 512, 1024, \"tt\", \"7 ms\"],\n"
      "          [256, 512, 1024, \"nt\", \"7\"],\n"
      "          [8, 8, 8, \"nt\", \"7 ms\"], [8, 8, 8, \"nt\", \"8 ms\"]]\n"
      "[[kernel]]\ndevice = \"cpu-host\"\noperation = \"nrom\"\nsource = \"a test\"\npoints = [[\"1 MiB\", "
      "\"1 ms\"]]\n");
  ASSERT_GE(faults.size(), 6U);
  std::vector<unsigned> lines;
  for (std::size_t i = 0; i < 5; ++i) lines.push_back(faults[i].place.line);
  EXPECT_THAT(lines, ElementsAre(5, 6, 7, 8, 9));
  EXPECT_GT(faults[1].place.column, 10U);
  EXPECT_THAT(faults[5].message + faults[5].hint, HasSubstr("norm"));
}

TEST_F(MeasuredTimesOf, OneMeasurementStandsInOneTable) {
  const auto faults = faults_of(std::string(products) + products);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("second [[gemm]]"));
}

TEST_F(MeasuredTimesOf, FitsAreAcceptedAndTheirFormIsChecked) {
  const std::string fit =
      "[[fit]]\nof = \"copies\"\ncurve = \"t = latency + size / rate\"\nsource = \"a test\"\n";
  EXPECT_THAT(
      load(fit +
           "parameters = [[\"rate\", \"10 GB/s\", \"9 GB/s\", \"11 GB/s\"]]\nresidual = 0.02\npoints = 4\n")
          .notes,
      IsEmpty());
  const auto faults = faults_of(fit + "parameters = [[\"rate\", \"10 GB/s\"]]\nresiduals = 0.02\n");
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].place.line, 5U);
  EXPECT_THAT(faults[1].message + faults[1].hint, HasSubstr("residual"));
}

TEST_F(MeasuredTimesOf, AHostDeviceLaunchesNothing) {
  const Profile profile = load("");
  const CostModel model(profile.gpu, profile.software);
  EXPECT_EQ(model.operator_work(linear(8, 8, 8), Pass::forward, 1, options_of(Dtype::fp32)).host_time,
            Seconds(0));
  EXPECT_EQ(profile.software.host_per_collective.value, Seconds(0));
}

}  // namespace
}  // namespace stepcast
