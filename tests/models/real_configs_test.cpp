#include <filesystem>
#include <map>

#include "tests/models/support.hpp"

namespace stepcast {
namespace {

/// What every collected config.json gives: its parameters, or 0 for "known, but not built yet".
const std::map<std::string, std::int64_t>& expected() {
  static const std::map<std::string, std::int64_t> table = {
      {"bart-large-old", 0},
      {"deepseek-r1-0528", 0},
      {"gemma-2-2b-it", 2'614'341'888},
      {"glm-4.5-testdata", 0},
      // 12000 * 512 + 256 * 512 + 8 * (12 * 512^2 + 13 * 512) + 2 * 512
      {"gpt2-lclm", 31'495'168},
      {"ktransformers-deepseek-sft", 0},
      // Named after Llama-2-7b: 2 * 32000 * 2048 + 24 * (4 * 2048^2 + 3 * 2048 * 5504 + 2 * 2048) + 2048
      {"llama-2-1.3b", 1'345'423'360},
      {"llama-2-13b", 13'015'864'320},
      {"llama-2-70b-chat", 68'976'648'192},
      {"llama-2-7b", 6'738'415'616},
      {"llama-3.1-70b", 70'553'706'496},
      {"llama-3.1-8b", 8'030'261'248},
      {"llama-3.2-3b", 3'212'749'824},
      // 2 * 32000 * 256 + 4 * 256^2 + 3 * 256 * 640 + 3 * 256
      {"llama-testdata-fake", 17'138'432},
      {"mixtral-8x7b-v0.1", 46'702'792'704},
      {"openmoe-8b", 0},
      {"qwen-clip-visualchat", 0},
      {"qwen2.5-14b", 14'770'033'664},
      {"qwen2.5-32b", 32'763'876'352},
      {"qwen2.5-7b", 7'615'616'512},
      {"qwen3-14b", 14'768'307'200},
      {"qwen3-235b-a22b", 235'093'634'560},
      {"qwen3-30b-a3b", 30'532'122'624},
      {"qwen3-30b-a3b-instruct-2507", 30'532'122'624},
      {"qwen3-32b", 32'762'123'264},
      {"qwen3-4b", 4'022'468'096},
      {"qwen3-8b", 8'190'735'360},
      {"qwen3-next-80b-a3b", 0},
      {"sq-opt-1.3b", 1'315'758'080},
      {"sq-opt-13b", 12'853'473'280},
      {"sq-opt-30b", 29'974'540'288},
      {"sq-opt-6.7b", 6'658'473'984},
      {"t5-dec-only-xl", 0},
      // 32128 * 1280; 36 * (4 * 1280^2 + 2 * 1280 * 5120 + 2 * 1280); 36 * (8 * 1280^2 + 2 * 1280 * 5120 + 3
      // * 1280); two final norms; two bias tables of 64 * 20
      {"t5-lm-large", 1'692'866'560},
      {"t5-v1_1-xxl", 11'135'332'352},
      {"vicuna-13b-v1.3", 13'015'864'320},
      // 2 * 51200 * 4096 + 32 * (4 * 4096^2 + 3 * 4096 * 11008 + 2 * 4096) + 4096
      {"xgen-7b-8k", 6'895'702'016}};
  return table;
}

TEST(RealConfigs, LoadOrSayWhatIsBuilt) {
  const std::filesystem::path folder = std::string(STEPCAST_SOURCE_DIR) + "/../shared/formats/hf-config";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no collected configurations at " << folder;
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    ++seen;
    ModelRequest request;
    request.huggingface = entry.path();
    request.as_given = name + ".json";
    request.sequence_length = 256;
    const auto known = expected().find(name);
    std::int64_t parameters = 0;
    const auto faults =
        faults_of([&] { parameters = build_model(request, request_place()).parameter_count(); });
    if (known != expected().end() && known->second > 0) {
      EXPECT_EQ(parameters, known->second);
      continue;
    }
    // Files added later may be either; a fault must be one that a person can act on.
    EXPECT_TRUE(known == expected().end() || !faults.empty());
    for (const Diagnostic& fault : faults) {
      EXPECT_EQ(fault.place.file, name + ".json");
      EXPECT_GT(fault.place.line, 0u);
      EXPECT_GT(fault.place.column, 0u);
      EXPECT_FALSE(fault.message.empty());
      EXPECT_FALSE(fault.hint.empty());
      if (known != expected().end()) {
        EXPECT_NE(fault.message.find("known, but not built yet"), std::string::npos) << fault.message;
      }
    }
  }
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace stepcast
