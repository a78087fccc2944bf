#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.hpp"
#include "tests/cli/program.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Run : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    write("small.toml", scenario());
    write("sweep.toml",
          scenario("[what_if]\n\"cluster.nodes\" = [1, 2]\n\"training.strategy\" = [\"ddp\", \"fsdp\"]\n"));
  }
  std::vector<Value> points(const std::string& arguments) const {
    const Outcome outcome = stepcast("run " + arguments + " --json -");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return parse_json(outcome.out, "stdout").find("points")->array;
  }
  static std::string setting(const Value& point, const std::string& key) {
    const Value* value = point.find("settings")->find(key);
    return value ? value->to_text() : "";
  }
  std::vector<std::string> column(const std::vector<Value>& rows, const std::string& key) const {
    std::vector<std::string> texts;
    for (const Value& row : rows) texts.push_back(setting(row, key));
    return texts;
  }
};

TEST_F(Run, JsonToStdoutIsOneDocumentAndNothingElse) {
  const Outcome outcome = stepcast("run sweep.toml --json -");
  EXPECT_EQ(outcome.exit_code, 0);
  const Value document = parse_json(outcome.out, "stdout");  // throws on anything before or after it
  EXPECT_EQ(document.find("schema")->string, "stepcast.result/1");
  EXPECT_EQ(document.find("title")->string, "small");
}

TEST_F(Run, PointsComeInTheOrderOfTheCrossProductLastKeyFastest) {
  const auto rows = points("sweep.toml");
  EXPECT_THAT(column(rows, "cluster.nodes"), ElementsAre("1", "1", "2", "2"));
  EXPECT_THAT(column(rows, "training.strategy"), ElementsAre("ddp", "fsdp", "ddp", "fsdp"));
}

TEST_F(Run, SetWithAListSweepsAfterTheKeysOfTheFile) {
  const auto rows = points("sweep.toml --set training.micro_batch_size=1,2");
  ASSERT_EQ(rows.size(), 8U);
  EXPECT_EQ(setting(rows[1], "training.micro_batch_size"), "2");
  EXPECT_EQ(setting(rows[1], "training.strategy"), "ddp");
}

TEST_F(Run, SetOnASweptKeyReplacesTheSweepAndStaysInTheSettings) {
  const auto one = points("sweep.toml --set cluster.nodes=4");
  EXPECT_THAT(column(one, "cluster.nodes"), ElementsAre("4", "4"));
  const auto others = points("sweep.toml --set cluster.nodes=3,4");
  EXPECT_THAT(column(others, "cluster.nodes"), ElementsAre("3", "3", "4", "4"));
}

TEST_F(Run, SettingsHoldEverySetKey) {
  const auto rows =
      points("small.toml --set training.micro_batch_size=2 --set \"cluster.link_rate=100 Gb/s\"");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(setting(rows[0], "training.micro_batch_size"), "2");
  EXPECT_EQ(setting(rows[0], "cluster.link_rate"), "100 Gb/s");
}

TEST_F(Run, TheTableHasARowForEachPointAndSaysWhatItMeans) {
  const Outcome outcome = stepcast("run sweep.toml");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("The best of what fits is"));
  EXPECT_THAT(outcome.out, HasSubstr("What limits: "));
  EXPECT_THAT(outcome.out, HasSubstr("\n*"));
}

TEST_F(Run, JsonToAFileLeavesTheTableOnStdoutAndNoOtherFile) {
  const Outcome outcome = stepcast("run small.toml --json result.json");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("tokens/s"));
  EXPECT_EQ(parse_json(read("result.json"), "result.json").find("points")->array.size(), 1U);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    files += entry.path().filename().string().starts_with("result.json") ? 1 : 0;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(Run, AnUnwritablePathIsToldBeforeTheWork) {
  const Outcome outcome = stepcast("run small.toml --json nowhere/result.json");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err,
              HasSubstr("nowhere/result.json: error: can't write this file: there is no folder \"nowhere\""));
  EXPECT_THAT(stepcast("run small.toml --trace .").err, HasSubstr("it is a folder"));
}

TEST_F(Run, ATraceNeedsExactlyOnePointAndSaysHowToChooseIt) {
  const Outcome many = stepcast("run sweep.toml --trace t.json");
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_THAT(many.err, HasSubstr("--trace needs exactly one point, and this sweep has 4"));
  EXPECT_THAT(many.err, HasSubstr("--set cluster.nodes=2 --set training.strategy=fsdp"));
  const Outcome one =
      stepcast("run sweep.toml --trace t.json --set cluster.nodes=2 --set training.strategy=fsdp");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_GT(parse_json(read("t.json"), "t.json").find("traceEvents")->array.size(), 100U);
}

// gpt2-xl has 1.56e9 parameters: 16 bytes each are 23 GiB, more than an A10's 24 GB leaves beside
// activations.
TEST_F(Run, RequireFitFailsAndSaysByHowMuch) {
  const std::string small_gpu =
      "run small.toml --set model.preset=gpt2-xl --set cluster.nodes=1 --set cluster.node=pcie-a10";
  const Outcome told = stepcast(small_gpu);
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("DOES NOT FIT"));
  const Outcome required = stepcast(small_gpu + " --require-fit");
  EXPECT_EQ(required.exit_code, 1);
  EXPECT_THAT(required.err, HasSubstr("does not fit: model.preset = gpt2-xl"));
  EXPECT_THAT(required.err, HasSubstr("too much"));
  EXPECT_EQ(stepcast("run small.toml --require-fit").exit_code, 0);
}

TEST_F(Run, TheNumberOfThreadsDoesNotChangeAByte) {
  const Outcome one = stepcast("run sweep.toml --jobs 1 --json -");
  const Outcome two = stepcast("run sweep.toml --jobs 2 --json -");
  EXPECT_EQ(one.out, two.out);
  EXPECT_EQ(stepcast("run sweep.toml --jobs 1").out, stepcast("run sweep.toml --jobs 2").out);
}

TEST_F(Run, AKeyThatTheStrategyDoesNotUseIsANoteAndSaidToMoveNothing) {
  const Outcome outcome =
      stepcast("run small.toml --set training.strategy=fsdp --set \"training.bucket_size=25 MiB,100 MiB\"");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              HasSubstr("training.bucket_size moves the step by less than 0.1 %: not used by fsdp."));
  EXPECT_THAT(outcome.err, HasSubstr("note: "));
}

// At 1 b/s a step takes years, more than the clock counts: the input's doing, not a fault of stepcast.
TEST_F(Run, AStepThatTheClockCannotCountIsAnImpossiblePoint) {
  const Outcome alone = stepcast("run small.toml --set \"cluster.link_rate=1 b/s\" --trace t.json");
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_EQ(alone.out, "");
  EXPECT_THAT(alone.err, testing::StartsWith("small.toml:1:1: error: "));
  EXPECT_THAT(alone.err, HasSubstr("46 days"));
  const Outcome some = stepcast("run small.toml --set \"cluster.link_rate=1 b/s,100 Gb/s\" --json -");
  EXPECT_EQ(some.exit_code, 0) << some.err;
  EXPECT_THAT(some.out, HasSubstr("\"invalid\": \""));
  const Outcome none = stepcast("run small.toml --set \"cluster.link_rate=1 b/s,2 b/s\" --json -");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(parse_json(none.out, "stdout").find("title")->string, "small");
}

// 1600 micro-batches at 300 kb/s take 41 days. The table repeats one of them; the trace writes all of them
// out for three steps, 122 days, and the clock ends at 106.
TEST_F(Run, ATraceThatTheClockCannotCountIsTheInputsDoing) {
  const Outcome outcome = stepcast(
      "run small.toml --set training.strategy=fsdp --set training.gradient_accumulation_steps=1600 "
      "--set \"cluster.link_rate=300 kb/s\" --trace t.json");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("tokens/s"));
  EXPECT_THAT(outcome.err, HasSubstr("stepcast: error: "));
  EXPECT_THAT(outcome.err, HasSubstr("46 days"));
}

TEST_F(Run, ProgressIsSilentWhenStderrIsNoTerminal) {
  EXPECT_THAT(stepcast("run sweep.toml --json -").err, Not(HasSubstr("points")));
}

// Thousands of points take seconds; the signal comes after 0.3 s.
TEST_F(Run, InterruptingStopsWithItsOwnExitCode) {
  std::string nodes = "1", micro_batches = "1";
  for (int i = 2; i <= 40; ++i) nodes += "," + std::to_string(i);
  for (int i = 2; i <= 40; ++i) micro_batches += "," + std::to_string(i);
  const Outcome outcome =
      shell("timeout --preserve-status -s INT 0.3 " + program() +
            " run small.toml --json - --set cluster.nodes=" + nodes +
            " --set training.micro_batch_size=" + micro_batches + " --set training.strategy=ddp,zero1,fsdp");
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("stepcast: interrupted"));
}

}  // namespace
}  // namespace stepcast
