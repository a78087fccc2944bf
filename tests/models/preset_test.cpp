#include <algorithm>

#include "models/presets.hpp"
#include "tests/models/support.hpp"

namespace stepcast {
namespace {

TEST(Presets, AliasesBuildTheSameModel) {
  EXPECT_EQ(preset("llama3-8b").name, "llama-3.1-8b");
  EXPECT_EQ(preset("bert-large-uncased").parameter_count(), 335'141'888);
  EXPECT_EQ(preset("resnet50").name, "resnet-50");
  EXPECT_TRUE(is_model_preset("llama3-70b"));
  EXPECT_TRUE(is_model_preset("gpt2"));
  EXPECT_FALSE(is_model_preset("gpt-9"));
}

TEST(Presets, AreListedSortedWithoutAliases) {
  const auto names = model_preset_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_NE(std::find(names.begin(), names.end(), "llama-3.1-8b"), names.end());
  EXPECT_EQ(std::find(names.begin(), names.end(), "llama3-8b"), names.end());
}

TEST(Presets, NamesAndAliasesAreUniqueAndHaveASource) {
  std::vector<std::string> all;
  for (const ModelPreset& one : model_presets()) {
    EXPECT_FALSE(one.source.empty()) << one.name;
    all.push_back(one.name);
    all.insert(all.end(), one.aliases.begin(), one.aliases.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(Presets, AnUnknownNameIsAFaultWithTheNearestOne) {
  const auto faults = faults_of([] { (void)preset("lama-3.1-8b"); });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].place.line, 3u);
  EXPECT_EQ(faults[0].place.column, 10u);
  EXPECT_EQ(faults[0].message, "unknown model preset \"lama-3.1-8b\"");
  EXPECT_EQ(faults[0].hint, "did you mean \"llama-3.1-8b\"?");
}

TEST(Presets, SequenceLengthDefaultsToThePresets) {
  EXPECT_EQ(preset("llama-3.1-8b").sequence_length, 8192);
  EXPECT_EQ(preset("llama-3.1-8b", 4096).sequence_length, 4096);
  EXPECT_EQ(preset("gpt2").sequence_length, 1024);
  EXPECT_EQ(preset("resnet-50", 4096).sequence_length, 0);
}

TEST(Presets, ASequenceBeyondLearnedPositionsIsAFault) {
  const auto faults = faults_of([] { (void)preset("gpt2", 2048); });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message, "sequence_length 2048 is longer than the 1024 learned positions of gpt2");
  EXPECT_TRUE(
      faults_of([] { (void)preset("llama-2-7b", 32768); }).empty());  // rotary positions have no table
}

}  // namespace
}  // namespace stepcast
