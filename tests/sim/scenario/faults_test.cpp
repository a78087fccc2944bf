#include <gtest/gtest.h>

#include <fstream>

#include "scenario_text.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

using testing::plain_scenario;
using testing::ScenarioText;

std::vector<Diagnostic> faults_of(const ScenarioText& text) {
  try {
    (void)expand(load_scenario(text.path(), {}));
  } catch (const ScenarioError& error) {
    return error.diagnostics();
  }
  return {};
}

/// `from` replaced by `to` in the plain scenario.
ScenarioText changed(const std::string& from, const std::string& to) {
  std::string text = plain_scenario;
  return ScenarioText(text.replace(text.find(from), from.size(), to));
}

struct Bad {
  std::string name, from, to;
  unsigned line, column;
  std::string message, hint;
};

class BadScenario : public ::testing::TestWithParam<Bad> {};

TEST_P(BadScenario, NamesPlaceExpectationAndHint) {
  const Bad& bad = GetParam();
  const ScenarioText text = changed(bad.from, bad.to);
  const auto faults = faults_of(text);
  ASSERT_EQ(faults.size(), 1U) << (faults.empty()
                                       ? ""
                                       : render(faults[0]) + (faults.size() > 1 ? render(faults[1]) : ""));
  EXPECT_EQ(faults[0].place.file, text.path());
  EXPECT_EQ(faults[0].place.line, bad.line) << render(faults[0]);
  EXPECT_EQ(faults[0].place.column, bad.column) << render(faults[0]);
  EXPECT_NE(faults[0].message.find(bad.message), std::string::npos) << render(faults[0]);
  EXPECT_NE(faults[0].hint.find(bad.hint), std::string::npos) << render(faults[0]);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BadScenario,
    ::testing::Values(
        Bad{"unknown_key", "nodes = 2", "nodse = 2\nnodes = 2", 6, 1, "unknown key \"cluster.nodse\"",
            "nodes"},
        Bad{"wrong_type", "nodes = 2", "nodes = \"two\"", 6, 9,
            "cluster.nodes must be a whole number, not text", ""},
        Bad{"missing_unit", "nodes = 2", "nodes = 2\nlink_rate = 400", 7, 13, "needs a unit", "Gb/s"},
        Bad{"negative_nodes", "nodes = 2", "nodes = -2", 6, 9, "cluster.nodes is -2, must be 1 to", ""},
        Bad{"micro_batch_zero", "micro_batch_size = 2", "micro_batch_size = 0", 11, 20,
            "training.micro_batch_size is 0, must be 1 to", ""},
        Bad{"indivisible_batch", "micro_batch_size = 2", "micro_batch_size = 2\nglobal_batch_size = 100", 12,
            21, "not divisible by 2 per GPU x 16 GPUs = 32", "nearest: 96"},
        Bad{"unknown_preset", "\"hgx-h100\"", "\"hgx-h1000\"", 7, 8, "hgx-h1000", "hgx-h100"},
        Bad{"unknown_model", "\"gpt2\"", "\"gtp2\"", 3, 10, "gtp2", "gpt2"},
        Bad{"unknown_fabric", "\"infiniband-400g\"", "\"infinband-400g\"", 8, 10, "infinband-400g",
            "infiniband-400g"},
        Bad{"contradiction", "micro_batch_size = 2",
            "micro_batch_size = 2\ngradient_accumulation_steps = 2\nglobal_batch_size = 32", 13, 21,
            "contradicts", "give one of the two"},
        Bad{"two_models", "preset = \"gpt2\"", "preset = \"gpt2\"\nworkload = \"w.toml\"", 2, 1, "contradict",
            "exactly one"},
        Bad{"too_long", "sequence_length = 1024", "sequence_length = 2048", 4, 19, "longer than the 1024",
            "at most 1024"},
        Bad{"no_strategy", "strategy = \"ddp\"\n", "", 9, 1, "training.strategy is missing", "ddp, zero1"},
        Bad{"no_fabric", "fabric = \"infiniband-400g\"\n", "", 5, 1, "cluster.fabric is missing",
            "infiniband-400g"},
        Bad{"later_section", "[training]", "[cost]\ngpu_hour = 2\n[training]", 9, 1,
            "[cost] is known, not built yet", ""},
        Bad{"later_parallel", "micro_batch_size = 2", "micro_batch_size = 2\ntensor_parallel = 2", 12, 19,
            "known, not built yet", ""}),
    [](const auto& bad) { return bad.param.name; });

TEST(BadScenarioFile, AConfigCutShortIsAFaultOfTheConfig) {
  const ScenarioText text = changed("preset = \"gpt2\"", "huggingface = \"config.json\"");
  std::ofstream(text.folder() / "config.json") << "{\n  \"model_type\": \"llama\",\n  \"hidden_size\": 40";
  const auto faults = faults_of(text);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults[0].place.file.find("config.json"), std::string::npos);
  EXPECT_EQ(faults[0].place.line, 3U);
  EXPECT_NE(faults[0].hint.find("cut short"), std::string::npos);
}

TEST(BadScenarioFile, AllFaultsAtOnce) {
  const ScenarioText text(
      "[model]\npreset = \"gtp2\"\nsequence_length = 0\n[cluster]\nnodes = 0\nnode = \"hgx-h1000\"\nfabric = "
      "3\n"
      "[training]\nstrategy = \"dpd\"\nmicro_batch_size = 1.5\nprecision = \"bf61\"\nextra = 1\n");
  const auto faults = faults_of(text);
  EXPECT_EQ(faults.size(), 9U);
  for (const Diagnostic& fault : faults) EXPECT_GT(fault.place.line, 0U) << fault.message;
}

TEST(BadScenarioFile, NotTomlAtAll) {
  const ScenarioText text("this is not toml");
  const auto faults = faults_of(text);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].place.line, 1U);
}

}  // namespace
}  // namespace stepcast
