#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.hpp"
#include "tests/cli/program.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

/// A log whose steps all take this long.
std::string megatron_log(double seconds) {
  std::string text = "using world size: 16, data-parallel-size: 16\n";
  for (int iteration = 1; iteration <= 6; ++iteration) {
    text += " iteration " + std::to_string(iteration) +
            "/ 6 | elapsed time per iteration (ms): " + std::to_string(1000 * seconds) +
            " | global batch size: 64 | lm loss: 9.0E+00 |\n";
  }
  return text;
}

class VerifyCommand : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    write("s.toml", scenario());
  }
  /// What the scenario is predicted to take.
  double predicted() {
    const Outcome outcome = stepcast("run s.toml --json -");
    return parse_json(outcome.out, "stdout").find("points")->array[0].find("step_time_s")->real;
  }
};

TEST_F(VerifyCommand, ALogWithinTheToleranceIsExitCode0AndOneBeyondItIs1) {
  write("train.log", megatron_log(1.2 * predicted()));  // predicted / measured - 1 = -16.7 %
  EXPECT_EQ(stepcast("verify s.toml --measured train.log").exit_code, 1);
  EXPECT_EQ(stepcast("verify s.toml --measured train.log --tolerance 20%").exit_code, 0);
  EXPECT_EQ(stepcast("verify s.toml --measured train.log --tolerance 0.16").exit_code, 1);
  EXPECT_EQ(stepcast("verify s.toml --measured train.log --tolerance '17 %'").exit_code, 0);
}

TEST_F(VerifyCommand, JsonHoldsBothSidesAndTheError) {
  const double step = predicted();
  write("train.log", megatron_log(2 * step));
  const Outcome outcome = stepcast("verify s.toml --measured train.log --json -");
  EXPECT_EQ(outcome.exit_code, 1);
  const Value json = parse_json(outcome.out, "stdout");
  EXPECT_EQ(json.find("schema")->string, "stepcast.verification/1");
  EXPECT_EQ(json.find("backend")->string, "log");
  EXPECT_THAT(json.find("hardware")->string, HasSubstr("16 GPUs"));
  ASSERT_EQ(json.find("points")->array.size(), 1u);
  const Value& point = json.find("points")->array[0];
  EXPECT_DOUBLE_EQ(point.find("predicted")->find("step_time_s")->real, step);
  EXPECT_GT(point.find("predicted")->find("memory_peak_bytes")->real, 0);
  constexpr double printed = 1e-6;  // the log's times have six decimals of a millisecond
  for (const char* key : {"step_time_s", "step_time_p05_s", "step_time_p50_s", "step_time_p95_s"})
    EXPECT_NEAR(point.find("measured")->find(key)->real / (2 * step), 1, printed) << key;
  EXPECT_EQ(point.find("measured")->find("compute_s")->kind, Value::Kind::null);  // logs don't tell
  EXPECT_NEAR(point.find("relative_error")->real, -0.5, printed);
  const Value& summary = *json.find("summary");
  EXPECT_EQ(summary.find("points")->integer, 1);
  EXPECT_NEAR(summary.find("median_abs_error")->real, 0.5, printed);
  EXPECT_NEAR(summary.find("max_abs_error")->real, 0.5, printed);
  EXPECT_FALSE(summary.find("within_tolerance")->boolean);
  EXPECT_DOUBLE_EQ(summary.find("tolerance")->real, 0.15);
}

TEST_F(VerifyCommand, ALogOfAnotherJobIsToldSo) {
  write("train.log", megatron_log(1));
  const Outcome outcome =
      stepcast("verify s.toml --set cluster.nodes=1 --set training.micro_batch_size=8 --measured train.log");
  EXPECT_THAT(outcome.err, HasSubstr("the log says GPUs: 16, the scenario 8"));
}

TEST_F(VerifyCommand, OneLogIsOneQuestion) {
  write("train.log", megatron_log(1));
  const Outcome outcome = stepcast("verify s.toml --set cluster.nodes=1,2 --measured train.log");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("asks 2 questions"));
  EXPECT_THAT(outcome.err, HasSubstr("--set cluster.nodes=1"));
}

TEST_F(VerifyCommand, ALogWithoutTimesIsWrongInput) {
  write("main.log", "s:0 tel:11.0092\ns:0 trl:11.0091 lr:0.000001 norm:15.37\n");
  const Outcome outcome = stepcast("verify s.toml --measured main.log");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("main.log:1:1: error: no step times"));
  EXPECT_THAT(outcome.err, HasSubstr("line 2"));
}

TEST_F(VerifyCommand, AToleranceThatIsNoShareIsWrongInput) {
  write("train.log", megatron_log(1));
  for (const char* text : {"15", "x", "-3%", "0", "inf", "inf%", "nan"}) {
    const Outcome outcome = stepcast("verify s.toml --measured train.log --tolerance=" + std::string(text));
    EXPECT_EQ(outcome.exit_code, 2) << text;
    EXPECT_THAT(outcome.err, HasSubstr("is no share")) << text;
  }
}

/// Trains a paced model on one core of this machine.
class VerifyByTrainingCommand : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    write("w.toml", R"([workload]
name = "paced"
samples_per_micro_batch = 4
precision = "fp32"
optimizer_time = "1 ms"
source = "test"
measured_on = "nothing"
[[layer]]
name = "fc"
forward_time = "1 ms"
backward_time = "2 ms"
parameters = [{ name = "weight", shape = [64, 64] }]
)");
    write("s.toml", R"([model]
workload = "w.toml"
[cluster]
nodes = 1
node = "cpu-host"
[training]
strategy = "ddp"
precision = "fp32"
micro_batch_size = 4
[what_if]
"training.gradient_accumulation_steps" = [1, 2]
)");
  }
};

TEST_F(VerifyByTrainingCommand, RunsEveryPointAndPrintsBothSides) {
  const Outcome outcome = stepcast("verify s.toml --steps 3 --tolerance 1000000% --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Value json = parse_json(outcome.out, "stdout");
  EXPECT_EQ(json.find("schema")->string, "stepcast.verification/1");
  EXPECT_EQ(json.find("backend")->string, "host");
  EXPECT_THAT(json.find("hardware")->string, HasSubstr("1 rank on "));
  ASSERT_EQ(json.find("points")->array.size(), 2u);
  const Value& point = json.find("points")->array[1];
  ASSERT_EQ(point.find("settings")->table.size(), 1u);  // the forced software is not the user's setting
  EXPECT_EQ(point.find("settings")->find("training.gradient_accumulation_steps")->integer, 2);
  const Value &predicted = *point.find("predicted"), &measured = *point.find("measured");
  // 2 x (1 + 2) + 1 ms; a pause is never shorter than asked.
  EXPECT_GE(measured.find("step_time_s")->real, 7e-3);
  EXPECT_GE(predicted.find("step_time_s")->real, 7e-3);
  EXPECT_EQ(measured.find("steps")->integer, 3);
  for (const Value* side : {&predicted, &measured}) {
    double sum = 0;
    for (const char* part : {"compute_s", "exposed_communication_s", "optimizer_s"})
      sum += side->find(part)->real;
    EXPECT_NEAR(sum / side->find("step_time_s")->real, 1, 1e-9);
    EXPECT_EQ(side->find("memory_peak_bytes")->real, 4 * 4 * 64 * 64);  // weights, gradients, two moments
  }
  EXPECT_NEAR(point.find("relative_error")->real,
              predicted.find("step_time_s")->real / measured.find("step_time_s")->real - 1, 1e-12);
}

TEST_F(VerifyByTrainingCommand, BeyondTheToleranceIsExitCode1) {
  // No clock is that good.
  const Outcome outcome = stepcast("verify s.toml --steps 3 --tolerance 0.000001%");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("beyond the tolerance"));
}

TEST_F(VerifyByTrainingCommand, PointsThatNeedOtherRanksAreNotRun) {
  const std::string options = " --steps 3 --tolerance 1000000% --set training.gradient_accumulation_steps=1 ";
  const Outcome some =
      stepcast("verify s.toml --set cluster.nodes=1,2 --set cluster.fabric=ethernet-1g" + options);
  EXPECT_EQ(some.exit_code, 0) << some.err;
  EXPECT_THAT(some.out, HasSubstr("not run: cluster.nodes=2"));
  EXPECT_THAT(some.out, HasSubstr("needs 2 ranks, and 1 was started"));
  const Outcome none =
      stepcast("verify s.toml --set cluster.nodes=2 --set cluster.fabric=ethernet-1g" + options);
  EXPECT_EQ(none.exit_code, 2);
}

TEST_F(VerifyByTrainingCommand, NothingIsWithinTheToleranceWhereNoPointRuns) {
  const Outcome outcome =
      stepcast("verify s.toml --set cluster.nodes=2 --set cluster.fabric=ethernet-1g --json -");
  EXPECT_EQ(outcome.exit_code, 2);
  const Value json = parse_json(outcome.out, "stdout");
  EXPECT_EQ(json.find("summary")->find("points")->integer, 0);
  EXPECT_FALSE(json.find("summary")->find("within_tolerance")->boolean);
}

TEST_F(VerifyByTrainingCommand, TheTimeOfAPointIsTakenWithAUnitOrInSeconds) {
  const std::string options = " --tolerance 1000000% --set training.gradient_accumulation_steps=1 --json -";
  // A step takes 4 ms or more, so 5 ms hold one, and three are the fewest.
  for (const char* time : {"5ms", "0.005", "0.005s"}) {
    const Outcome outcome = stepcast("verify s.toml --seconds " + std::string(time) + options);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Value json = parse_json(outcome.out, "stdout");
    EXPECT_EQ(json.find("points")->array.at(0).find("measured")->find("steps")->integer, 3) << time;
  }
  EXPECT_THAT(stepcast("verify s.toml --seconds 5x").err,
              testing::AllOf(HasSubstr("--seconds 30"), HasSubstr("--seconds 500ms")));
}

TEST_F(VerifyByTrainingCommand, AnotherSoftwareOfTheScenarioIsToldSo) {
  const Outcome outcome = stepcast(
      "verify s.toml --steps 3 --tolerance 1000000% --set training.gradient_accumulation_steps=1 --set "
      "training.software=pytorch-eager");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("verify trains with stepcast-trainer"));
}

TEST_F(VerifyByTrainingCommand, GpusCantBeVerifiedOnCores) {
  write("g.toml", scenario());
  const Outcome outcome = stepcast("verify g.toml --backend host");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("node \"dgx-a100-80g\" has GPUs"));
}

TEST_F(VerifyByTrainingCommand, TooFewStepsAreWrongInput) {
  for (const char* option : {"--steps 2", "--steps x", "--seconds 0", "--seconds 3x", "--seconds inf"})
    EXPECT_EQ(stepcast("verify s.toml " + std::string(option)).exit_code, 2) << option;
}

}  // namespace
}  // namespace stepcast
