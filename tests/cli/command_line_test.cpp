#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Help : public CommandLine {};
class Usage : public CommandLine {};

TEST_F(Help, TeachesTheCommandsAndGoesToStdout) {
  const Outcome outcome = stepcast("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("stepcast run scenarios/8-to-32.toml"));
  EXPECT_THAT(outcome.out, HasSubstr("known, not built yet:"));
  EXPECT_THAT(outcome.out, HasSubstr("exit codes: 0 done"));
}

TEST_F(Help, OfRunShowsAScenarioExamplesAndTheBuiltInNames) {
  const Outcome outcome = stepcast("run --help");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* text : {"--set key=value", "--require-fit", "[what_if]", "llama-3.1-8b", "hgx-h100",
                           "infiniband-400g", "pytorch-compiled", "known, not built yet"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
  EXPECT_EQ(stepcast("help run").out, outcome.out);
}

TEST_F(Help, WithoutAnyWordItIsShownAndTheExitCodeSaysThatNothingWasDone) {
  const Outcome outcome = stepcast("");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("usage: stepcast COMMAND"));
}

TEST_F(Help, VersionIsOneLine) { EXPECT_THAT(stepcast("--version").out, StartsWith("stepcast 0.")); }

TEST_F(Usage, AnUnknownCommandIsSuggested) {
  const Outcome outcome = stepcast("rnu x.toml");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err,
              HasSubstr("stepcast: error: unknown command \"rnu\"\n  hint: did you mean \"run\"?"));
}

TEST_F(Usage, AScenarioWithoutACommandGetsTheRightWords) {
  EXPECT_THAT(stepcast("scenarios/x.toml").err,
              HasSubstr("hint: to predict a scenario: stepcast run scenarios/x.toml"));
}

TEST_F(Usage, CommandsOfLaterIssuesAreKnown) {
  for (const char* command : {"sweep", "plan", "gui"}) {
    const Outcome outcome = stepcast(command);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_THAT(outcome.err, HasSubstr("known, not built yet")) << command;
  }
}

TEST_F(Usage, AllFaultsOfTheOptionsAreShownAtOnce) {
  const Outcome outcome = stepcast("run x.toml --jsn - --report x.html --set");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("unknown option \"--jsn\"\n  hint: did you mean \"--json\"?"));
  EXPECT_THAT(outcome.err, HasSubstr("\"--report\": known, not built yet"));
  EXPECT_THAT(outcome.err, HasSubstr("\"--set\" needs a value"));
}

TEST_F(Usage, WrongValuesSayWhatIsExpected) {
  EXPECT_THAT(stepcast("run").err, HasSubstr("which scenario?"));
  EXPECT_THAT(stepcast("run a.toml b.toml").err, HasSubstr("one scenario at a time"));
  EXPECT_THAT(stepcast("run a.toml --jobs 0").err,
              HasSubstr("--jobs needs a whole number from 1, not \"0\""));
  EXPECT_THAT(stepcast("run a.toml --set cluster.nodes").err, HasSubstr("--set needs key=value"));
  EXPECT_THAT(stepcast("run a.toml --require-fit=yes").err, HasSubstr("\"--require-fit\" takes no value"));
  EXPECT_THAT(stepcast("run report.html").err, HasSubstr("known, not built yet"));
  EXPECT_EQ(stepcast("run report.html").exit_code, 2);
}

TEST_F(Usage, AMissingScenarioIsNamedAsItWasGiven) {
  const Outcome outcome = stepcast("run ./nowhere.toml");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, StartsWith("./nowhere.toml:1:1: error: no such file"));
}

}  // namespace
}  // namespace stepcast
