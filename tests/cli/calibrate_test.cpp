#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.hpp"
#include "tests/cli/program.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;
using testing::Not;

/// One process, on the host backend; the tests' machine may be as busy as it likes (--force).
class Calibrate : public CommandLine {
 protected:
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  /// Starts, ends it with SIGINT when some measurements are in the journal.
  Outcome interrupted() const {
    return shell(program() +
                 " calibrate --quick --force --backend host --out p.toml & pid=$!; "
                 "for i in $(seq 600); do [ $(cat p.toml.journal 2>/dev/null | wc -l) -gt 3 ] && break; "
                 "sleep 0.1; done; kill -INT $pid; wait $pid");
  }
};

TEST_F(Calibrate, ADryRunSaysWhatWouldBeMeasuredAndTouchesNothing) {
  const Outcome outcome = stepcast("calibrate --quick --dry-run --backend host --out p.toml");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* text : {"gemm fp32", "attention", "memory-bound kernels",
                           "expected time:", "memory:", "core-minutes:", "nothing was measured"})
    EXPECT_THAT(outcome.out, HasSubstr(text));
  EXPECT_FALSE(exists("p.toml"));
  EXPECT_FALSE(exists("p.toml.journal"));
}

TEST_F(Calibrate, ADryRunPlansForOtherMachinesAndGivesAllOfItAsJson) {
  const Outcome outcome = stepcast(
      "calibrate --dry-run --backend cuda --node hgx-h100 --fabric infiniband-400g --layout 2x8 --json -");
  EXPECT_EQ(outcome.exit_code, 0);
  const Value plan = parse_json(outcome.out, "stdout");
  EXPECT_EQ(plan.find("schema")->string, "stepcast.calibration-plan/1");
  EXPECT_EQ(plan.find("ranks")->integer, 16);
  EXPECT_EQ(plan.find("estimates_from")->string, "h100-sxm");
  EXPECT_GT(plan.find("measurements")->array.size(), 500U);
}

TEST_F(Calibrate, WritesAProfileThatRunTakesAndSaysWhatItFound) {
  const Outcome outcome = stepcast("calibrate --quick --budget 2s --force --backend host --out p.toml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("calibrate: backend host"));
  for (const char* text : {"best gemm fp32", "memory, large copy", "launch of a kernel",
                           "no time was left for", "written: p.toml"})
    EXPECT_THAT(outcome.out, HasSubstr(text));
  EXPECT_TRUE(exists("p.toml"));
  EXPECT_FALSE(exists("p.toml.journal"));
  write("s.toml", R"(
[model]
preset = "gpt2"
sequence_length = 128
[cluster]
nodes = 1
node = "cpu-host"
[training]
strategy = "ddp"
software = "stepcast-trainer"
precision = "fp32"
)");
  const Outcome run = stepcast("run s.toml --profile p.toml --json -");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(parse_json(run.out, "stdout").find("points")->array[0].find("origins")->find("gemm")->string,
            "measured");
}

TEST_F(Calibrate, GivesTheResultAsOneJsonDocument) {
  const Outcome outcome =
      stepcast("calibrate --quick --budget 1s --force --backend host --out p.toml --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Value result = parse_json(outcome.out, "stdout");
  EXPECT_EQ(result.find("schema")->string, "stepcast.calibration/1");
  EXPECT_EQ(result.find("backend")->string, "host");
  EXPECT_GT(result.find("launch_s")->real, 0);
}

// A millisecond has no time for five samples of anything (5 ms each and more).
TEST_F(Calibrate, CountsWhatASmallBudgetLeavesOut) {
  const Outcome plan = stepcast("calibrate --dry-run --backend host --budget 1ms --json -");
  EXPECT_GT(parse_json(plan.out, "stdout").find("too_long")->integer, 500);
  EXPECT_THAT(stepcast("calibrate --dry-run --backend host --budget 10s").out,
              HasSubstr("warning: this budget leaves out about "));
  EXPECT_THAT(stepcast("calibrate --dry-run --backend host --budget 5h").out, Not(HasSubstr("warning")));
  const Outcome outcome = stepcast("calibrate --backend host --budget 1ms --force --out p.toml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("warning: no time was left for [0-9]{3,} measurements"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("memory, large copy")));
  const Outcome again = stepcast("calibrate --backend host --budget 1ms --force --resume --out p.toml");
  EXPECT_THAT(again.err, HasSubstr("there is no p.toml.journal: a new calibration"));
  EXPECT_THAT(again.err, HasSubstr("p.toml is there already; it is replaced at the end"));
}

TEST_F(Calibrate, KeepsWhatIsFinishedWhenInterruptedAndGoesOnFromThere) {
  const Outcome outcome = interrupted();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("measurements are kept in p.toml.journal; go on with --resume"));
  const std::string kept = read("p.toml.journal");

  const Outcome again = stepcast("calibrate --quick --force --backend host --out p.toml");
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("stepcast: error: p.toml.journal holds the measurements"));
  EXPECT_THAT(again.err, HasSubstr("--resume"));
  EXPECT_EQ(read("p.toml.journal"), kept);

  const Outcome resumed =
      stepcast("calibrate --quick --budget 1s --force --backend host --resume --out p.toml");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("measurements are in p.toml.journal"));
  EXPECT_TRUE(exists("p.toml"));
  EXPECT_FALSE(exists("p.toml.journal"));
}

TEST_F(Calibrate, DoesNotGoOnWithAJournalOfOtherHardware) {
  ASSERT_EQ(interrupted().exit_code, 130);
  std::string journal = read("p.toml.journal");
  const std::size_t model = journal.find("\"model\":\"") + 9;
  write("p.toml.journal", journal.insert(model, "Not "));
  const Outcome outcome = stepcast("calibrate --quick --force --backend host --resume --out p.toml");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("p.toml.journal was measured on other hardware: model: Not "));
  EXPECT_EQ(read("p.toml.journal"), journal);
}

TEST_F(Calibrate, KeepsTheJournalWhenTheProfileCannotBeWritten) {
  // The limit on a file's size stands for a disk that is full: it lets a few lines of the journal through.
  const Outcome outcome = shell("trap '' XFSZ; ulimit -f 4; " + program() +
                                " calibrate --quick --budget 2s --force --backend host --out p.toml");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("can't write p.toml.journal: File too large; the "));
  EXPECT_THAT(outcome.err, HasSubstr("go on with --resume"));
  const std::string kept = read("p.toml.journal");
  EXPECT_EQ(kept.back(), '\n');
  const Outcome resumed =
      stepcast("calibrate --quick --budget 1s --force --backend host --resume --out p.toml");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST_F(Calibrate, SaysWhatIsWrongWithItsOptions) {
  EXPECT_THAT(stepcast("calibrate").err, HasSubstr("calibrate: where to?"));
  EXPECT_THAT(stepcast("calibrate --backend hsot --dry-run").err, HasSubstr("did you mean \"host\"?"));
  EXPECT_THAT(stepcast("calibrate --budget soon --dry-run").err, HasSubstr("--budget \"soon\" is no time"));
  EXPECT_THAT(stepcast("calibrate --dry-run --layout 2by8").err, HasSubstr("for example 2x8"));
  const auto refused = [&](const std::string& options, const std::string& why) {
    for (const char* where : {"--dry-run", "--force --out p.toml"}) {
      const Outcome outcome = stepcast("calibrate --quick " + options + " " + where);
      EXPECT_EQ(outcome.exit_code, 2) << options << where;
      EXPECT_THAT(outcome.err, HasSubstr(why)) << options << where;
    }
  };
  refused("--backend host --node hgx-h200", "measures CPU cores, and the node \"hgx-h200\" has GPUs");
  refused("--backend cuda --node cpu-host", "measures GPUs, and the node \"cpu-host\" has none");
  refused("--backend host --fabric foo", "foo");
  refused("--backend host --json nowhere/r.json", "there is no folder \"nowhere\"");
  refused("--backend host --budget 1e99h", "--budget \"1e99h\" is more than 30 days");
  for (const char* layout : {"99999999x99999999", "99999999999x1", "1x99999999999", "50000x3"}) {
    const Outcome outcome = stepcast(std::string("calibrate --backend host --dry-run --layout ") + layout);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("has more than 100000 ranks"));
  }
  const Outcome crowded = stepcast("calibrate --backend cuda --dry-run --layout 2x9");
  EXPECT_EQ(crowded.exit_code, 2);
  EXPECT_THAT(crowded.err, HasSubstr("9 ranks on a node, and the node \"hgx-h100\" has 8 GPUs"));
  const Outcome folder = stepcast("calibrate --force --backend host --out nowhere/p.toml");
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_THAT(folder.err, HasSubstr("there is no folder \"nowhere\""));
}

}  // namespace
}  // namespace stepcast
