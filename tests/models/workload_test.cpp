#include "models/workload.hpp"

#include "tests/models/support.hpp"

namespace stepcast {
namespace {

constexpr const char* complete = R"([workload]
name = "mlp"
samples_per_micro_batch = 32
precision = "bf16"
optimizer_time = "43 ms"
bucketing_time = "16 ms"
source = "a test"
measured_on = "a host"

[[layer]]
name = "fc1"
forward_time = "1.2 ms"
backward_time = "2.4 ms"
gradient_ready_time = "2 ms"
activation_bytes = "4 MiB"
buffers_bytes = "1 KiB"
output_bytes = "64 KiB"
parameters = [{ name = "weight", shape = [1024, 512] }, { name = "bias", shape = [1024] }]

[[layer]]
name = "fc2"
forward_time = "1 ms"
backward_time = "2 ms"
parameters = [{ name = "weight", shape = [10, 1024] }]
)";

TEST(Workload, IsReadWhole) {
  const Model model = read_workload(complete, "w.toml");
  EXPECT_EQ(model.name, "mlp");
  EXPECT_EQ(model.family, "workload");
  ASSERT_TRUE(model.measured.has_value());
  EXPECT_EQ(model.measured->samples_per_micro_batch, 32);
  EXPECT_EQ(model.measured->precision, "bf16");
  EXPECT_DOUBLE_EQ(model.measured->optimizer_time.value, 43e-3);
  EXPECT_DOUBLE_EQ(model.measured->bucketing_time.value, 16e-3);
  EXPECT_EQ(model.measured->measured_on, "a host");
  ASSERT_EQ(model.layers.size(), 2u);
  const Layer& fc1 = model.layers[0];
  EXPECT_DOUBLE_EQ(fc1.forward_time->value, 1.2e-3);
  EXPECT_DOUBLE_EQ(fc1.backward_time->value, 2.4e-3);
  EXPECT_DOUBLE_EQ(fc1.gradient_ready_time->value, 2e-3);
  EXPECT_EQ(fc1.activation_bytes->value, 4 * 1024.0 * 1024);
  EXPECT_EQ(fc1.buffers.value, 1024);
  EXPECT_EQ(fc1.output_elements, 65536.0 / 32 / 2);  // 64 KiB of 32 samples in 2-byte elements
  EXPECT_EQ(fc1.parameters[0].name, "weight");
  EXPECT_EQ(model.parameter_count(), 1024 * 512 + 1024 + 10 * 1024);
  EXPECT_FALSE(model.layers[1].gradient_ready_time.has_value());
  EXPECT_EQ(model.layers[1].first_equal, 1);
  EXPECT_EQ(model.sequence_length, 0);
}

TEST(Workload, ALayerMayHaveNoParameters) {
  const Model model = read_workload(
      "[workload]\nname = \"w\"\nsamples_per_micro_batch = 1\nprecision = \"fp32\"\noptimizer_time = \"1 "
      "ms\"\n"
      "[[layer]]\nname = \"relu\"\nforward_time = \"1 ms\"\nbackward_time = \"1 ms\"\n",
      "w.toml");
  EXPECT_EQ(model.parameter_count(), 0);
}

// All faults at once: samples 0, a bare number, a misspelt key, a missing time, an extent of 0.
TEST(Workload, ShowsAllFaultsAtTheirPlaces) {
  const auto faults = faults_of([] {
    (void)read_workload(R"([workload]
name = "w"
samples_per_micro_batch = 0
precision = "fp32"
optimizer_time = 43
[[layer]]
nam = "fc1"
name = "fc1"
forward_time = "1 ms"
parameters = [{ name = "weight", shape = [1024, 0] }]
)",
                        "w.toml");
  });
  ASSERT_EQ(faults.size(), 5u);
  EXPECT_EQ(faults[0].place.line, 3u);
  EXPECT_EQ(faults[0].place.file, "w.toml");
  EXPECT_EQ(faults[1].place.line, 5u);
  EXPECT_NE(faults[1].hint.find("ms"), std::string::npos);
  bool missing = false, misspelt = false, extent = false;
  for (const Diagnostic& fault : faults) {
    missing = missing || fault.message == "layer[0].backward_time is missing";
    misspelt = misspelt || (fault.message == "unknown key \"layer[0].nam\"" && fault.place.line == 7);
    extent =
        extent || (fault.message.find("at least 1, not 0") != std::string::npos && fault.place.line == 10);
  }
  EXPECT_TRUE(missing);
  EXPECT_TRUE(misspelt);
  EXPECT_TRUE(extent);
}

TEST(Workload, AGradientIsNotReadyAfterItsBackward) {
  const auto faults = faults_of([] {
    (void)read_workload(
        "[workload]\nname = \"w\"\nsamples_per_micro_batch = 1\nprecision = \"fp32\"\noptimizer_time = \"1 "
        "ms\"\n"
        "[[layer]]\nname = \"fc\"\nforward_time = \"1 ms\"\nbackward_time = \"1 ms\"\ngradient_ready_time = "
        "\"2 ms\"\n",
        "w.toml");
  });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].place.line, 10u);
}

TEST(Workload, NeedsALayer) {
  const auto faults = faults_of([] {
    (void)read_workload(
        "[workload]\nname = \"w\"\nsamples_per_micro_batch = 1\nprecision = \"fp32\"\noptimizer_time = \"1 "
        "ms\"\n",
        "w.toml");
  });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message, "layer is missing");
}

TEST(Workload, AFileThatIsNotThereIsAFaultOfTheScenario) {
  ModelRequest request;
  request.workload = "/nowhere/w.toml";
  request.as_given = "w.toml";
  const auto faults = faults_of([&] { (void)build_model(request, request_place()); });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].place.file, "scenario.toml");
  EXPECT_EQ(faults[0].message, "can't read \"w.toml\"");
}

}  // namespace
}  // namespace stepcast
