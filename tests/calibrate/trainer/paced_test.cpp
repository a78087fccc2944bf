#include <gtest/gtest.h>

#include <cmath>

#include "small_models.hpp"
#include "team.hpp"

namespace stepcast {
namespace {

/// Forward 3 and 6 ms, backward 6 and 12 ms, update 4 ms, for micro-batches of 2 samples.
Model paced_model() {
  return read_workload(R"(
[workload]
name = "paced"
samples_per_micro_batch = 2
precision = "fp32"
optimizer_time = "4 ms"
[[layer]]
name = "layer0"
forward_time = "3 ms"
backward_time = "6 ms"
activation_bytes = "4 kB"
parameters = [{ name = "weight", shape = [32, 32] }, { name = "bias", shape = [32] }]
[[layer]]
name = "layer1"
forward_time = "6 ms"
backward_time = "12 ms"
gradient_ready_time = "4 ms"
parameters = [{ name = "weight", shape = [64, 32] }, { name = "bias", shape = [64] }]
)",
                       "paced.toml");
}

TrainedRun run_paced(int ranks, const TrainingSection& training, std::vector<IssuedCall>* issued = nullptr) {
  Team team(ranks);
  TrainedRun result;
  team.run([&](Backend& backend, Meeting& meeting) {
    TrainOptions options;
    options.warm_up = 1;
    options.steps = 3;
    TrainedRun run = train(paced_model(), training, backend, meeting, options);
    if (meeting.place().rank == 0) result = std::move(run);
  });
  if (issued != nullptr) *issued = team.issued();
  return result;
}

// Micro-batches of 4 samples take twice as long: 2 (2 x 27) ms of layers and 4 ms of update. Sleeps are never
// shorter; how much longer depends on the machine.
TEST(PacedTraining, TakesTheSumOfItsTimesOnOneRank) {
  const TrainedRun run = run_paced(1, small_training(Strategy::ddp, 4, 2));
  ASSERT_EQ(run.steps.size(), 3U);
  for (const TrainedStep& step : run.steps) {
    EXPECT_GE(step.time.value, 0.112 - 1e-3);
    EXPECT_GE(step.optimizer.value, 4e-3 - 1e-3);
    EXPECT_EQ(step.exposed.value, 0);
    EXPECT_TRUE(std::isnan(step.loss));
  }
}

// Half of the update is each rank's.
TEST(PacedTraining, SharesTheUpdateAmongRanks) {
  const TrainedRun run = run_paced(2, small_training(Strategy::zero1, 2));
  for (const TrainedStep& step : run.steps) EXPECT_GE(step.optimizer.value, 2e-3 - 1e-3);
  std::vector<double> times;
  for (const TrainedStep& step : run.steps) times.push_back(step.optimizer.value);
  EXPECT_LT(*std::min_element(times.begin(), times.end()), 4e-3);
}

// Limits of 2000 and 8000 bytes: layer 1's bias and weight (256 + 8192 bytes) are the first bucket, layer 0's
// (128 + 4096) what is left.
TEST(PacedTraining, SendsRealBucketsInTheOrderOfBackward) {
  std::vector<IssuedCall> issued;
  (void)run_paced(2, small_training(Strategy::ddp, 2), &issued);
  const IssuedCall first{"data_parallel", "all_reduce", 256 + 8192},
      second{"data_parallel", "all_reduce", 128 + 4096};
  std::vector<IssuedCall> expected;
  for (int step = 0; step < 4; ++step) expected.insert(expected.end(), {first, second});
  EXPECT_EQ(issued, expected);
}

TEST(PacedTraining, HoldsTheMemoryOfTheMeasuredActivations) {
  Model model = paced_model();
  const TrainedRun run = run_paced(1, small_training(Strategy::ddp, 4));
  // States: 16 bytes a parameter; activations: 4 kB, twice as much for twice the samples.
  EXPECT_EQ(run.memory_peak.value, 16.0 * static_cast<double>(model.parameter_count()) + 8000);
}

}  // namespace
}  // namespace stepcast
