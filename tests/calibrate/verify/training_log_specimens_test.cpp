// Logs of real jobs, where they are present, with the figures that a person reads out of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/diagnostic.hpp"
#include "calibrate/verify/steady_step.hpp"
#include "calibrate/verify/training_log.hpp"

namespace stepcast {
namespace {

struct Specimen {
  const char* file;
  const char* software;
  std::size_t steps;
  double first_s, last_s;  ///< of the first and the last time
  double median_s;         ///< after warm-up
  int warm_up;
  int devices;        ///< 0: the log doesn't say
  int global_batch;   ///< likewise
  int length;         ///< likewise
  double memory_gib;  ///< likewise
};

void PrintTo(const Specimen& specimen, std::ostream* out) { *out << specimen.file; }

std::string path_of(const char* file) {
  return std::string(STEPCAST_SOURCE_DIR "/../shared/formats/train-log/") + file;
}

class TrainingLogs : public testing::TestWithParam<Specimen> {};

TEST_P(TrainingLogs, AreReadAsAPersonReadsThem) {
  const Specimen& expected = GetParam();
  if (!std::filesystem::exists(path_of(expected.file))) GTEST_SKIP() << "no log " << expected.file;
  const TrainingLog log = read_training_log(path_of(expected.file));
  EXPECT_EQ(log.software, expected.software);
  ASSERT_EQ(log.steps.size(), expected.steps) << log.time_from;
  constexpr double digits = 1e-4;  // the expectations here are rounded to five digits
  EXPECT_NEAR(log.steps.front().time->value / expected.first_s, 1, digits);
  EXPECT_NEAR(log.steps.back().time->value / expected.last_s, 1, digits);
  std::vector<Seconds> times;
  for (const LoggedStep& step : log.steps) times.push_back(*step.time);
  const SteadyStep steady = steady_step(times);
  EXPECT_NEAR(steady.p50.value / expected.median_s, 1, digits);
  EXPECT_EQ(steady.warm_up, expected.warm_up);
  EXPECT_EQ(log.facts.devices().value_or(0), expected.devices);
  EXPECT_EQ(static_cast<int>(log.facts.samples_per_step().value_or(0)), expected.global_batch);
  EXPECT_EQ(log.facts.sequence_length.value_or(0), expected.length);
  EXPECT_NEAR(log.memory.value_or(Bytes()) / gibibytes(1), expected.memory_gib, 0.01);
}

INSTANTIATE_TEST_SUITE_P(
    Present, TrainingLogs,
    testing::Values(
        // 4103.1 ms for iteration 34; its step: 7.799 samples/s x 4.1031 s = 32, which no line says in words.
        // Memory is told by DeepSpeed alone.
        Specimen{"deepspeed-neox-a100-flops.log", "GPT-NeoX", 1, 4.1031, 4.1031, 4.1031, 0, 0, 0, 0, 63.31},
        // Every tenth step of 171.7 samples/s; ten steps lie 7.45 s apart, so 128 samples.
        Specimen{"dschat-sft-opt13b.log", "DeepSpeed", 176, 0.7448, 0.7459, 0.7467, 0, 0, 128, 512, 22.95},
        // The third of three runs: 273.01 s for the 2 steps that 1,000 samples make at a batch of 512.
        Specimen{"hf-ds-gpt2-v100-n16.out", "Hugging Face Trainer", 1, 136.5074, 136.5074, 136.5074, 0, 64,
                 512, 0, 0},
        // Three iterations on 64 GPUs in 16 data-parallel groups of 48 sequences: 768. 26118.2 MiB = 25.51
        // GiB.
        Specimen{"meg-ds-zero-gpt2-v100-n16.out", "Megatron-DeepSpeed", 3, 121.8998, 123.9078, 123.9078, 0,
                 64, 768, 1024, 25.506},
        // The first of three iterations is warm-up: 155 s against the median 128.96 of the other two.
        Specimen{"megatron-gpt2-v100-n16.out", "Megatron-LM", 3, 155.4838, 128.8915, 128.96015, 1, 64, 1024,
                 1024, 0},
        Specimen{"megatron-gpt3-aws-slurm.log", "Megatron-LM", 3, 0.087, 0.0884, 0.087, 0, 0, 2, 0, 0},
        // Ten blocks of a hundred steps; the first took 23.618 s.
        Specimen{"mlperf-sd-mllog-2x8h100.out", "MLPerf log", 10, 0.23618, 0.19945, 0.20059, 1, 0, 128, 0, 0},
        Specimen{"nanogpt-titanxp-2gpu.txt", "nanoGPT", 6, 33.78552, 33.63729, 33.7333, 0, 0, 0, 0, 0},
        // 68581.8 MiB = 66.97 GiB.
        Specimen{"sb-megatron-deepspeed-a100.log", "Megatron-DeepSpeed", 5, 76.0153, 74.4949, 75.2496, 0, 16,
                 2048, 2048, 66.974}),
    [](const testing::TestParamInfo<Specimen>& specimen) {
      std::string name = specimen.param.file;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

TEST(TrainingLogSpecimens, MicroStepsAreKeptWhereNoStepIsTimed) {
  const std::string file = path_of("deepspeed-2020-microsteps.log");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no log " << file;
  const TrainingLog log = read_training_log(file);
  EXPECT_EQ(log.software, "DeepSpeed");
  EXPECT_TRUE(log.steps.empty());
  ASSERT_EQ(log.micro_steps.size(), 8u);
  // 193.65 + 329.25 + 0.92 ms, ..., 192.47 + 338.06 + 0.07 ms.
  EXPECT_NEAR(log.micro_steps.front().value, 0.52382, 1e-9);
  EXPECT_NEAR(log.micro_steps.back().value, 0.53060, 1e-9);
}

TEST(TrainingLogSpecimens, LossesWithoutTimesAreToldApart) {
  const std::string file = path_of("llmc-main-124M.log");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no log " << file;
  try {
    (void)read_training_log(file);
    FAIL() << "times were read out of a log that has none";
  } catch (const ScenarioError& error) {
    EXPECT_THAT(error.diagnostics().front().message, testing::HasSubstr("no times"));
    EXPECT_THAT(error.diagnostics().front().message, testing::HasSubstr("line 2"));
  }
}

}  // namespace
}  // namespace stepcast
