#include <gtest/gtest.h>

#include "calibrate/launch/lone_meeting.hpp"
#include "small_models.hpp"
#include "team.hpp"

namespace stepcast {
namespace {

std::vector<double> losses_on(Backend& backend, Meeting& meeting, const Model& model,
                              const TrainingSection& training) {
  TrainOptions options;
  options.warm_up = 0;
  options.steps = 20;
  std::vector<double> losses;
  for (const TrainedStep& step : train(model, training, backend, meeting, options).steps) {
    losses.push_back(step.loss);
  }
  return losses;
}

// In fp32 (TF32 is off) sums differ in order only; bf16 has 8 bits of mantissa, so that a loss of 3 is off by
// some 1 %.
TEST(Gpu, LearnsAsAHostDoes) {
  const auto meeting = meet_alone("none");
  std::unique_ptr<Backend> gpu;
  try {
    gpu = open_cuda_backend(*meeting);
  } catch (const MachineError& error) {
    GTEST_SKIP() << error.what();
  }
  const auto host = open_host_backend(*meeting);
  Setting setting(Strategy::ddp, "stepcast-trainer");
  for (const Model& model : {setting.preset("stepcast-gpt", 64).model, small_mlp()}) {
    for (const Strategy strategy : {Strategy::ddp, Strategy::fsdp}) {
      TrainingSection training = small_training(strategy, 4, 2);
      const std::vector<double> expected = losses_on(*host, *meeting, model, training);
      const std::vector<double> fp32 = losses_on(*gpu, *meeting, model, training);
      training.precision = Dtype::bf16;
      set_default_dtypes(training);
      const std::vector<double> bf16 = losses_on(*gpu, *meeting, model, training);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(fp32[i], expected[i], 1e-3 * expected[i]) << model.name << ", step " << i;
        EXPECT_NEAR(bf16[i], expected[i], 2e-2 * expected[i]) << model.name << ", step " << i;
      }
    }
  }
}

}  // namespace
}  // namespace stepcast
