#include "models/huggingface.hpp"

#include <algorithm>

#include "tests/models/support.hpp"

namespace stepcast {
namespace {

Model fixture(const std::string& name) {
  ModelRequest request;
  request.huggingface = std::string(STEPCAST_SOURCE_DIR) + "/tests/fixtures/hf/" + name;
  request.as_given = name;
  return build_model(request, request_place());
}

std::vector<Diagnostic> fixture_faults(const std::string& name) {
  return faults_of([&] { (void)fixture(name); });
}

// 2 * 1000 * 64 + 64 + 2 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 160 + 2 * 64) = 214,336.
TEST(HuggingFace, ReadsALlama) {
  const Model model = fixture("tiny-llama.json");
  EXPECT_EQ(model.parameter_count(), 214'336);
  EXPECT_EQ(model.name, "tiny-llama");
  EXPECT_EQ(model.family, "llama");
  EXPECT_EQ(model.sequence_length, 128);
  EXPECT_FALSE(model.tied_head);
}

// Four layers; step 2 makes 1 and 3 sparse, mlp_only_layers takes 3 out again. Table 1000 * 64 and final norm
// 64; attention 64 * 128 * 2 + 64 * 64 * 2, head norms 2 * 32, norms 2 * 64; dense 3 * 64 * 160; router 4 *
// 64 and 4 experts of 3 * 64 * 32.
TEST(HuggingFace, FindsTheFamilyByItsClassAndTheSparseLayers) {
  const Model model = fixture("no-model-type.json");
  EXPECT_EQ(model.family, "qwen3_moe");
  EXPECT_EQ(model.parameter_count(),
            64'064 + 4 * (16'384 + 8'192 + 64 + 128) + 3 * 30'720 + (256 + 4 * 6'144));
  EXPECT_EQ(model.layers[3].first_equal, 1);
  EXPECT_EQ(model.layers[2].first_equal, 2);
  EXPECT_EQ(model.layers[4].first_equal, 1);
}

// new_decoder_architecture: two norms, 2 key-value heads of 16: qkv 128 * (128 + 64), dense 128^2, MLP 8 *
// 128^2, norms 4 * 128; table 500 * 128 tied; final norm 256.
TEST(HuggingFace, ReadsTheNewerFalcon) {
  const Model model = fixture("falcon-new.json");
  EXPECT_EQ(model.parameter_count(), 64'000 + 256 + 2 * (24'576 + 16'384 + 131'072 + 512));
  EXPECT_TRUE(model.tied_head);
}

// The published mpt-7b: 6,649,286,656 parameters, no biases, ALiBi instead of a table.
TEST(HuggingFace, ReadsThePublishedMpt) {
  EXPECT_EQ(fixture("mpt-published.json").parameter_count(), 6'649'286'656);
}

TEST(HuggingFace, AnUnknownTypeListsTheKnownOnesAndTheNearest) {
  const auto faults = fixture_faults("unknown-type.json");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].place.file, "unknown-type.json");
  EXPECT_EQ(faults[0].place.line, 2u);
  EXPECT_EQ(faults[0].place.column, 17u);
  EXPECT_EQ(faults[0].message, "unknown model_type \"lama\"");
  EXPECT_NE(faults[0].hint.find("did you mean \"llama\"?"), std::string::npos);
  for (const std::string& type : supported_model_types()) {
    EXPECT_NE(faults[0].hint.find(type), std::string::npos) << type;
  }
}

// Heads that do not divide are checked with the numbers that could be read: 100 / 12 and 12 / 5.
TEST(HuggingFace, NonsenseShowsAllItsFaultsAtOnce) {
  const auto faults = fixture_faults("nonsense.json");
  std::vector<unsigned> lines;
  for (const Diagnostic& fault : faults) lines.push_back(fault.place.line);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<unsigned>{4, 5, 6, 7, 8}));
}

TEST(HuggingFace, AMissingKeyIsNamedAtTheTable) {
  const auto faults = fixture_faults("missing-keys.json");
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].place.line, 1u);
  EXPECT_EQ(faults[0].message, "\"n_embd\" or \"hidden_size\" is missing");
  EXPECT_EQ(faults[1].message, "\"vocab_size\" is missing");
}

TEST(HuggingFace, AFileCutShortSaysWhere) {
  const auto faults = fixture_faults("truncated.json");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].place.file, "truncated.json");
  EXPECT_EQ(faults[0].place.line, 4u);
}

TEST(HuggingFace, ATokenCannotChooseMoreExpertsThanThereAre) {
  const auto faults = fixture_faults("too-many-chosen.json");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].place.line, 8u);
}

TEST(HuggingFace, SizesThatOverflowAreAFault) {
  const auto faults = faults_of([] {
    (void)read_huggingface_config(
        parse_json(R"({"model_type": "llama", "hidden_size": 9000000, "intermediate_size": 9000000,
          "num_hidden_layers": 9000, "num_attention_heads": 9000000, "vocab_size": 900000000})",
                   "big.json"),
        "");
  });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message, "these sizes make a model of more than 1e15 parameters");
}

TEST(HuggingFace, OnlyAnObjectIsAConfiguration) {
  const auto faults = faults_of([] { (void)read_huggingface_config(parse_json("[1]", "list.json"), ""); });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].message.find("one object"), std::string::npos);
}

}  // namespace
}  // namespace stepcast
