#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iomanip>

#include "small_models.hpp"
#include "team.hpp"
#include "tests/calibrate/launch/forked_ranks.hpp"

namespace stepcast {
namespace {

std::vector<double> losses_of(const TrainedRun& run) {
  std::vector<double> losses;
  for (const TrainedStep& step : run.steps) losses.push_back(step.loss);
  return losses;
}

TrainOptions five_steps() {
  TrainOptions options;
  options.warm_up = 1;
  options.steps = 5;
  return options;
}

class Processes : public testing::TestWithParam<Strategy> {};

// Three processes that meet over TCP and communicate by Gloo, against one rank with the same global batch;
// the tolerance is that of EveryStrategy.GivesTheLossesOfOneRank.
TEST_P(Processes, GiveTheLossesOfOneRank) {
  const Model model = small_gpt();
  std::vector<double> expected;
  Team(1).run([&](Backend& backend, Meeting& meeting) {
    expected = losses_of(train(model, small_training(Strategy::ddp, 6, 2), backend, meeting, five_steps()));
  });
  const TrainingSection training = small_training(GetParam(), 2, 2);
  ForkedRanks ranks("abc", [&](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const TrainedRun run = train(model, training, *backend, meeting, five_steps());
    for (const TrainedStep& step : run.steps) require(step.exposed.value > 0, "collectives take time");
    if (meeting.place().rank != 2) return;  // all ranks know the losses
    std::ofstream out("losses");
    out << std::setprecision(17);
    for (const double loss : losses_of(run)) out << loss << '\n';
  });
  ASSERT_EQ(ranks.exit_codes(), std::vector<int>(3, 0)) << ranks.printed();
  std::istringstream text(ranks.text_of("losses"));
  for (const double loss : expected) {
    double value = 0;
    ASSERT_TRUE(text >> value);
    EXPECT_NEAR(value, loss, 1e-4 * loss);
  }
}

INSTANTIATE_TEST_SUITE_P(OfThree, Processes,
                         testing::Values(Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3),
                         [](const auto& given) { return std::string(name_of(given.param)); });

// A rank that leaves in the middle of training ends the others, who say in which step.
TEST(TrainingProcesses, EndTogetherWhenOneOfThemDies) {
  ForkedRanks ranks("ab", [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    TrainOptions options;
    options.warm_up = 0;
    options.steps = 1'000'000;
    if (meeting.place().rank == 1) {
      options.progress = [](int done, int) {
        if (done == 3) _exit(7);
      };
    }
    (void)train(small_mlp(), small_training(Strategy::ddp, 2), *backend, meeting, options);
  });
  EXPECT_EQ(ranks.exit_codes(), (std::vector<int>{3, 7}));
  EXPECT_NE(ranks.printed().find("training step"), std::string::npos) << ranks.printed();
}

}  // namespace
}  // namespace stepcast
