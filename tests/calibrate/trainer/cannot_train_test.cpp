#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_models.hpp"
#include "team.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

std::string reason(const Model& model, const TrainingSection& training) {
  std::string said;
  Team(1).run([&](Backend& backend, Meeting&) { said = cannot_train(model, training, backend.device()); });
  return said;
}

Model preset(const std::string& name) {
  Setting setting(Strategy::ddp, "stepcast-trainer");
  return setting.preset(name, 128).model;
}

TEST(CannotTrain, SaysNothingOfWhatItTrains) {
  const TrainingSection training = small_training(Strategy::ddp, 1);
  EXPECT_EQ(reason(preset("stepcast-gpt"), training), "");
  EXPECT_EQ(reason(preset("stepcast-mlp"), training), "");
}

TEST(CannotTrain, NamesTheOperatorThatIsMissing) {
  const TrainingSection training = small_training(Strategy::ddp, 1);
  EXPECT_THAT(reason(preset("llama-3.2-1b"), training), HasSubstr("operator attention.norm"));
  EXPECT_THAT(reason(preset("gpt2"), training), HasSubstr("embedding.dropout"));
  EXPECT_THAT(reason(preset("opt-125m"), training), HasSubstr("operator attention.q"));
  EXPECT_THAT(reason(preset("bert-base"), training), HasSubstr("embedding"));
  EXPECT_THAT(reason(preset("resnet-50"), training), HasSubstr("operator"));
  EXPECT_THAT(reason(preset("falcon-7b"), training), HasSubstr("operator"));
  const Model alibi = model_of_config(R"(
model_type = "mpt"
n_layers = 2
d_model = 32
n_heads = 2
vocab_size = 64
no_bias = false
)");
  EXPECT_THAT(reason(alibi, training), HasSubstr("attention.core without learned positions"));
  EXPECT_THAT(reason(preset("bloom-560m"), training), HasSubstr("operator"));
}

TEST(CannotTrain, NamesTheSettingThatIsNotBuilt) {
  const Model model = small_gpt();
  TrainingSection training = small_training(Strategy::ddp, 1);
  training.precision = Dtype::bf16;
  EXPECT_THAT(reason(model, training), HasSubstr("bf16"));
  training = small_training(Strategy::ddp, 1);
  training.activation_checkpointing = Checkpointing::full;
  EXPECT_THAT(reason(model, training), HasSubstr("activation_checkpointing"));
  training = small_training(Strategy::ddp, 1);
  training.optimizer = OptimizerKind::lamb;
  EXPECT_THAT(reason(model, training), HasSubstr("lamb"));
  training = small_training(Strategy::ddp, 1);
  training.software = "deepspeed";
  EXPECT_THAT(reason(model, training), HasSubstr("deepspeed"));
}

TEST(CannotTrain, IsWhatTrainThrows) {
  Team team(1);
  EXPECT_THROW(team.run([](Backend& backend, Meeting& meeting) {
    (void)train(preset("gpt2"), small_training(Strategy::ddp, 1), backend, meeting, {});
  }),
               std::invalid_argument);
}

}  // namespace
}  // namespace stepcast
