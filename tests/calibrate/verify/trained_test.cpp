#include "calibrate/verify/trained.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/calibrate/trainer/team.hpp"
#include "tests/calibrate/verify/scenarios.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

TrainedStep step(double time, double exposed, double optimizer) {
  return {Seconds(time), Seconds(exposed), Seconds(optimizer), std::numeric_limits<double>::quiet_NaN()};
}

TEST(MeasuredFigures, AStepIsTheMeanOverRanksAndTheFigureTheMedianOverSteps) {
  const std::vector<TrainedRun> runs = {
      {{step(1.0, 0.2, 0.1), step(2.0, 0.2, 0.1), step(3.0, 0.2, 0.1)}, Bytes(100)},
      {{step(3.0, 0.6, 0.1), step(2.0, 0.6, 0.1), step(7.0, 0.6, 0.1)}, Bytes(300)}};
  const StepFigures figures = measured_figures(runs);
  EXPECT_DOUBLE_EQ(figures.step_time.value, 2.0);      // of 2, 2, 5
  EXPECT_DOUBLE_EQ(figures.step_time_p95.value, 4.7);  // 0.9 of the way from 2 to 5
  EXPECT_DOUBLE_EQ(figures.exposed_communication->value, 0.4);
  EXPECT_DOUBLE_EQ(figures.optimizer->value, 0.1);
  EXPECT_DOUBLE_EQ(figures.compute->value, 1.5);  // the rest of 2
  EXPECT_EQ(figures.memory_peak, Bytes(300));
  EXPECT_EQ(figures.steps, 3);
}

TEST(CannotRun, SaysHowManyRanksToStart) {
  RankPlace place;
  place.size = 2;
  EXPECT_EQ(cannot_run(cluster_scenario(2, "cpu-host", 1, "ethernet-1g"), place), "");
  EXPECT_THAT(cannot_run(cluster_scenario(4, "cpu-host", 1, "ethernet-1g"), place),
              HasSubstr("needs 4 ranks, and 2 were started: mpirun -n 4"));
}

/// Two ranks, three points: one runs, one needs more ranks, one the trainer can't run.
TEST(VerifyByTraining, EveryPointIsDoneOnceInOrderByRankZero) {
  Scenario scenario = cluster_scenario(2, "cpu-host", 1, "ethernet-1g");
  scenario.model.request.preset = "stepcast-mlp";
  scenario.training.software = "stepcast-trainer";
  scenario.training.precision = scenario.training.parameter_dtype = scenario.training.gradient_dtype =
      scenario.training.reduce_dtype = scenario.training.optimizer_dtype = Dtype::fp32;
  scenario.training.micro_batch_size = 1;
  Scenario larger = scenario, other = scenario;
  larger.cluster.nodes = 3;
  other.training.optimizer = OptimizerKind::lamb;
  std::vector<ScenarioPoint> points(3);
  points[0].scenario = scenario;
  points[0].settings = {{"a", Value::of(1)}};
  points[1].scenario = larger;
  points[2].scenario = other;

  Team team(2);
  std::vector<VerifiedPoint> done;
  team.run([&](Backend& backend, Meeting& meeting) {
    TrainedVerification options;
    options.steps = 3;
    options.warm_up = 1;
    options.done = [&](VerifiedPoint point) { done.push_back(std::move(point)); };
    verify_by_training(points, backend, meeting, options);
  });
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[0].invalid, "");
  EXPECT_EQ(done[0].settings.size(), 1u);
  EXPECT_EQ(done[0].measured.steps, 3);
  EXPECT_GT(done[0].measured.step_time, Seconds(0));
  EXPECT_GT(done[0].predicted.step_time, Seconds(0));
  EXPECT_TRUE(std::isfinite(done[0].relative_error()));
  EXPECT_THAT(done[1].invalid, HasSubstr("needs 3 ranks"));
  EXPECT_THAT(done[2].invalid, HasSubstr("lamb"));
}

TEST(VerifyByTraining, StopsBeforeThePointThatFollowsAnInterrupt) {
  std::vector<ScenarioPoint> points(2);
  points[0].invalid = points[1].invalid = "can't exist";
  Team team(1);
  std::atomic<bool> cancel{false};
  int done = 0;
  team.run([&](Backend& backend, Meeting& meeting) {
    TrainedVerification options;
    options.cancel = &cancel;
    options.done = [&](VerifiedPoint) {
      ++done;
      cancel = true;
    };
    EXPECT_THROW(verify_by_training(points, backend, meeting, options), Interrupted);
  });
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace stepcast
