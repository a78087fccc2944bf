#include <string>

#include "tests/models/support.hpp"

namespace stepcast {
namespace {

struct Expected {
  std::string preset;
  std::int64_t parameters;
};

class ParameterCount : public testing::TestWithParam<Expected> {};

// Published counts (model cards, safetensors indices, torchvision); tied heads are counted once.
TEST_P(ParameterCount, IsThePublishedOne) {
  EXPECT_EQ(preset(GetParam().preset).parameter_count(), GetParam().parameters);
}

std::string test_name(const testing::TestParamInfo<Expected>& parameters) {
  std::string name = parameters.param.preset;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Presets, ParameterCount,
    testing::Values(Expected{"gpt2", 124'439'808}, Expected{"gpt2-medium", 354'823'168},
                    Expected{"gpt2-large", 774'030'080}, Expected{"gpt2-xl", 1'557'611'200},
                    Expected{"llama-2-7b", 6'738'415'616}, Expected{"llama-2-13b", 13'015'864'320},
                    Expected{"llama-2-70b", 68'976'648'192}, Expected{"llama-3.1-8b", 8'030'261'248},
                    Expected{"llama-3.1-70b", 70'553'706'496}, Expected{"llama-3.1-405b", 405'853'388'800},
                    Expected{"llama-3.2-1b", 1'235'814'400}, Expected{"llama-3.2-3b", 3'212'749'824},
                    Expected{"tinyllama-1.1b", 1'100'048'384}, Expected{"mistral-7b", 7'241'732'096},
                    Expected{"mixtral-8x7b", 46'702'792'704}, Expected{"qwen2.5-7b", 7'615'616'512},
                    Expected{"qwen2.5-14b", 14'770'033'664}, Expected{"qwen2.5-32b", 32'763'876'352},
                    Expected{"qwen3-8b", 8'190'735'360}, Expected{"qwen3-30b-a3b", 30'532'122'624},
                    Expected{"gemma-2-2b", 2'614'341'888}, Expected{"phi-3-mini", 3'821'079'552},
                    Expected{"falcon-7b", 6'921'720'704}, Expected{"opt-125m", 125'239'296},
                    Expected{"opt-1.3b", 1'315'758'080}, Expected{"opt-6.7b", 6'658'473'984},
                    Expected{"opt-13b", 12'853'473'280}, Expected{"opt-30b", 29'974'540'288},
                    Expected{"bloom-560m", 559'214'592}, Expected{"bloom-7b1", 7'069'016'064},
                    Expected{"bloom-176b", 176'247'271'424}, Expected{"bert-base", 109'482'240},
                    Expected{"bert-large", 335'141'888}, Expected{"resnet-50", 25'557'032},
                    // (512 + 3 * 1024) * 1024 weights and 4 * 1024 biases, then 1025 * 256.
                    Expected{"stepcast-mlp", 3'936'512}, Expected{"resnet-101", 44'549'160},
                    Expected{"resnet-152", 60'192'808}, Expected{"t5-large", 737'668'096},
                    Expected{"t5-base", 222'903'552}, Expected{"vit-b-16", 86'567'656},
                    Expected{"vit-l-16", 304'326'632}),
    test_name);

}  // namespace
}  // namespace stepcast
