#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/insensitive.hpp"
#include "sim/report/sentences.hpp"
#include "sim/report/text_table.hpp"
#include "tests/sim/report/example_report.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  return all;
}

TEST(TextTable, NumbersStandRightWordsLeftAndHeadersAtTheBottom) {
  TextTable table;
  table.add_column("fabric", TextTable::Align::left);
  table.add_column("step\ntime", TextTable::Align::right);
  table.add_row({"roce-200g", "1 s"});
  table.add_row({"x", "100 s"});
  EXPECT_EQ(table.text(),
            "            step\n"
            "fabric      time\n"
            "---------  -----\n"
            "roce-200g    1 s\n"
            "x          100 s\n");
}

TEST(TextTable, LongKeysBreakAtUnderscores) {
  EXPECT_EQ(header_for("cluster.fabric"), "fabric");
  EXPECT_EQ(header_for("training.gradient_accumulation_steps"), "accumu-\nlation");
  EXPECT_EQ(header_for("training.activation_checkpointing"), "activation_\ncheckpointing");
  EXPECT_EQ(header_for("training.stage3_prefetch_bucket_size"), "stage3_\nprefetch_\nbucket_size");
}

// 4 nodes at infiniband-400g: 64 samples / 10 ms = 6400 samples/s, 6.4 M tokens/s; the slow fabric takes 40
// ms.
TEST(Table, ShowsARowForEachPointAndMarksTheBest) {
  const std::string text = to_table(example_sweep());
  EXPECT_EQ(text.substr(0, text.find("\n\n- ")),
            R"(An example

                                           scaling  scaling           com-  exposed  opti-         memory of
   nodes  fabric           GPUs  tokens/s     weak   strong     step  pute    comm.  mizer  other   80.0 GiB  bottleneck
-  -----  ---------------  ----  --------  -------  -------  -------  ----  -------  -----  -----  ---------  ----------
       1  ethernet-10g        8    1.60 M  100.0 %  100.0 %  10.0 ms  70 %     20 %   10 %    0 %   40.0 GiB  gemm
       1  infiniband-400g     8    1.60 M  100.0 %  100.0 %  10.0 ms  70 %     20 %   10 %    0 %   40.0 GiB  gemm

       4  ethernet-10g       32    1.60 M   25.0 %        -  40.0 ms  18 %     80 %    2 %    0 %   40.0 GiB  nic
*      4  infiniband-400g    32    6.40 M  100.0 %        -  10.0 ms  70 %     20 %   10 %    0 %   40.0 GiB  gemm

* the best of what fits. Efficiency is throughput per GPU over that of the smallest cluster,
  at the same batch per GPU (weak) or the same global batch (strong).)");
}

TEST(Table, SaysWhyAPointCannotExist) {
  Report report = example_sweep();
  report.points[2] = PointReport{};
  set(report.points[2], "cluster.nodes", Value::of(std::int64_t{3}));
  set(report.points[2], "cluster.fabric", Value::of("roce-200g"));
  report.points[2].invalid = "64 is not divisible by 24";
  EXPECT_THAT(to_table(report), HasSubstr("cannot exist: 64 is not divisible by 24"));
}

TEST(Table, OfPointsThatCannotExistHoldsTheirSettingsAndReasonsAlone) {
  Report report;
  report.title = "An example";
  report.swept = {"cluster.nodes"};
  for (const std::int64_t nodes : {3, 5}) {
    PointReport point;
    set(point, "cluster.nodes", Value::of(nodes));
    point.invalid = "64 is not divisible by " + std::to_string(8 * nodes);
    report.points.push_back(point);
  }
  EXPECT_EQ(to_table(report),
            "An example\n\n"
            "  nodes\n"
            "  -----  ---------------------------------------\n"
            "      3  cannot exist: 64 is not divisible by 24\n"
            "      5  cannot exist: 64 is not divisible by 40\n\n"
            "- No point of this sweep can exist.\n");
}

TEST(Sentences, SayWhichIsBestAndHowFarFromPerfect) {
  const std::string text = joined(sentences(example_sweep()));
  EXPECT_THAT(
      text, HasSubstr("The best of what fits is 4 nodes, infiniband-400g: 6.40 M tokens/s on 32 GPUs, 4.00x "
                      "of what 8 GPUs give with the same settings (4.00x would be perfect)"));
  EXPECT_THAT(text, HasSubstr("By fabric, at their best on 32 GPUs: infiniband-400g 6.40 M tokens/s (100.0 % "
                              "efficient), ethernet-10g 1.60 M tokens/s (25.0 % efficient)."));
  EXPECT_THAT(text, HasSubstr("What limits: gemm in 3 points, nic in 1 point."));
  EXPECT_THAT(text, HasSubstr("Every point fits; the fullest needs 40.0 GiB of 80.0 GiB"));
}

// 30 GiB more: 70 GiB parameters and states plus 2 GiB framework... 38 + 60 + 2 = 100 GiB of 80: 20 too much.
TEST(Sentences, SayWhatDoesNotFitAndByHowMuch) {
  Report report = example_sweep();
  report.points[3].memory.optimizer += gibibytes(60);
  const std::string text = joined(sentences(report));
  EXPECT_THAT(
      text, HasSubstr("1 of 4 points does not fit; the worst needs 100 GiB of 80.0 GiB per GPU, 20.0 GiB too "
                      "much (4 nodes, infiniband-400g, at start of backward (logits))."));
  EXPECT_THAT(text, Not(HasSubstr("best of what fits is 4 nodes, infiniband")));
  EXPECT_NE(best_point(report), 3U);
}

// ddp: 4 calls a step whatever the accumulation, 1 M -> 3 M tokens/s. fsdp: 4 calls at 1 step, 64 at 16, no
// gain.
TEST(Sentences, SayWhichStrategiesGainFromAccumulation) {
  Report report;
  report.swept = {"training.strategy", "training.gradient_accumulation_steps"};
  for (const char* strategy : {"ddp", "fsdp"}) {
    for (const int steps : {1, 16}) {
      PointReport point = example_point();
      point.strategy = strategy;
      point.gradient_accumulation_steps = steps;
      set(point, "training.strategy", Value::of(strategy));
      set(point, "training.gradient_accumulation_steps", Value::of(std::int64_t{steps}));
      const bool fsdp = point.strategy == "fsdp";
      point.communication[0].count = fsdp ? 4 * steps : 4;
      point.tokens_per_s = !fsdp && steps == 16 ? 3e6 : 1e6;
      report.points.push_back(point);
    }
  }
  EXPECT_THAT(
      joined(sentences(report)),
      HasSubstr("Accumulation on 8 GPUs: from 1 to 16 steps ddp gains at most 3.00x (ddp, gradient "
                "accumulation steps 16); from 1 to 16 steps fsdp gains nothing, since it communicates in "
                "every micro-batch."));
}

TEST(InsensitiveKeys, AKeyThatMovesNothingIsNamedWithItsReason) {
  Report report = example_sweep();
  report.points.erase(report.points.begin() + 2, report.points.end());  // one node: both fabrics take 10 ms
  const auto found = insensitive_keys(report);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, "cluster.fabric");
  EXPECT_EQ(found[0].reason, "one node does not use the network between nodes");
}

TEST(InsensitiveKeys, AKeyThatTheStrategyDoesNotUseSaysSo) {
  Report report;
  report.swept = {"training.bucket_size"};
  for (const char* size : {"25 MiB", "100 MiB"}) {
    PointReport point = example_point();
    point.strategy = "fsdp";
    set(point, "training.bucket_size", Value::of(size));
    point.warnings = {"training.bucket_size is not used by fsdp"};
    report.points.push_back(point);
  }
  EXPECT_THAT(joined(sentences(report)),
              HasSubstr("training.bucket_size moves the step by less than 0.1 %: not used by fsdp."));
}

// Exposed communication of 0.05 ms in steps of 10 ms is below 2 %: what is communicated hides under backward.
TEST(InsensitiveKeys, CommunicationThatIsNotExposedIsHidden) {
  Report report;
  report.swept = {"cluster.fabric"};
  for (const char* fabric : {"infiniband-400g", "infiniband-800g"}) {
    PointReport point = example_point();
    point.nodes = 4;
    point.breakdown.exposed_communication = Seconds(5e-5);
    set(point, "cluster.fabric", Value::of(fabric));
    report.points.push_back(point);
  }
  ASSERT_EQ(insensitive_keys(report).size(), 1U);
  EXPECT_EQ(insensitive_keys(report)[0].reason, "hidden under backward");
}

// 10.00 ms against 10.02 ms is 0.2 %: it matters.
TEST(InsensitiveKeys, AKeyThatMovesTheStepByTwoPerMilleMatters) {
  Report report;
  report.swept = {"cluster.link_rate"};
  for (const char* rate : {"100 Gb/s", "200 Gb/s"}) {
    PointReport point = example_point();
    set(point, "cluster.link_rate", Value::of(rate));
    report.points.push_back(point);
  }
  report.points[1].step_time = Seconds(10.02e-3);
  EXPECT_TRUE(insensitive_keys(report).empty());
}

}  // namespace
}  // namespace stepcast
