#include "models/huggingface.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "models/config_families.hpp"

namespace stepcast {
namespace {

using Reader = std::function<Architecture(ConfigReader&)>;

const std::map<std::string, Reader, std::less<>>& readers() {
  static const std::map<std::string, Reader, std::less<>> table = {
      {"bert", config::read_bert},       {"bloom", config::read_bloom},
      {"falcon", config::read_falcon},   {"gemma2", config::read_gemma2},
      {"gpt2", config::read_gpt2},       {"llama", config::read_llama},
      {"mistral", config::read_mistral}, {"mixtral", config::read_mixtral},
      {"mpt", config::read_mpt},         {"opt", config::read_opt},
      {"phi3", config::read_phi3},       {"qwen2", config::read_qwen2},
      {"qwen3", config::read_qwen3},     {"qwen3_moe", config::read_qwen3_moe},
      {"mlp", config::read_mlp},         {"resnet", config::read_resnet},
      {"t5", config::read_t5},           {"vit", config::read_vit}};
  return table;
}

/// Families that exist and that we know we do not build: the error says so instead of guessing a spelling.
const std::vector<std::string>& not_built() {
  static const std::vector<std::string> types = {"albert",      "bart",       "clip",
                                                 "cohere",      "dbrx",       "deepseek_v2",
                                                 "deepseek_v3", "deberta",    "decoder_only_t5",
                                                 "distilbert",  "electra",    "gemma",
                                                 "gemma3",      "glm4",       "glm4_moe",
                                                 "gpt_bigcode", "gpt_neo",    "gpt_neox",
                                                 "gpt_oss",     "gptj",       "llama4",
                                                 "mamba",       "mt5",        "nemotron",
                                                 "olmo",        "olmo2",      "openmoe",
                                                 "phi",         "qwen2_moe",  "qwen3_next",
                                                 "roberta",     "stablelm",   "starcoder2",
                                                 "whisper",     "xlm-roberta"};
  return types;
}

std::string joined(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// "LLaMAForCausalLM" -> "llama", "Qwen3MoeForCausalLM" -> "qwen3_moe": the type whose letters the class
/// begins with.
std::string type_of_class(const std::string& class_name) {
  std::string best;
  const std::string letters = lower(class_name);
  std::vector<std::string> types = supported_model_types();
  types.insert(types.end(), not_built().begin(), not_built().end());
  for (const std::string& type : types) {
    std::string plain = type;
    std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
    if (letters.starts_with(plain) && type.size() > best.size()) best = type;
  }
  return best;
}

struct NamedType {
  std::string type;
  SourcePlace place;
};

NamedType type_of(const Value& config) {
  const Value* type = config.find("model_type");
  if (type != nullptr && type->kind == Value::Kind::string) {
    // Falcon's types before it entered the transformers library.
    const bool falcon = type->string == "RefinedWeb" || type->string == "RefinedWebModel";
    return {falcon ? "falcon" : type->string, type->place};
  }
  if (type != nullptr && type->kind != Value::Kind::null) {
    throw ScenarioError(Diagnostic{type->place,
                                   "model_type must be text, not " + std::string(kind_name(type->kind)),
                                   "known: " + joined(supported_model_types())});
  }
  const Value* classes = config.find("architectures");
  if (classes != nullptr && classes->kind == Value::Kind::array && !classes->array.empty()) {
    const Value& first = classes->array.front();
    const std::string found = type_of_class(first.string);
    if (!found.empty()) return {found, first.place};
    throw ScenarioError(Diagnostic{
        first.place,
        "\"model_type\" is missing, and the architecture \"" + first.string + "\" is not known either",
        "add \"model_type\"; known: " + joined(supported_model_types())});
  }
  throw ScenarioError(Diagnostic{config.place, "\"model_type\" is missing, and \"architectures\" too",
                                 "add \"model_type\"; known: " + joined(supported_model_types())});
}

std::optional<TransformerArchitecture> transformer_of(const Architecture& architecture) {
  if (const auto* t5 = std::get_if<EncoderDecoderArchitecture>(&architecture)) {
    TransformerArchitecture both = t5->stack;
    both.layers += 2 * t5->decoder_layers;  // a decoder block has twice an encoder block's attention
    return both;
  }
  if (const auto* vit = std::get_if<VisionTransformerArchitecture>(&architecture)) return vit->encoder;
  if (const auto* shape = std::get_if<TransformerArchitecture>(&architecture)) return *shape;
  return std::nullopt;
}

/// Sizes that are each possible may still be nonsense together, and overflow what counts them.
void check_magnitude(const TransformerArchitecture& shape, const Value& config,
                     std::vector<Diagnostic>& faults) {
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  const double attention = 2 * real(shape.heads + shape.key_value_heads) * real(shape.head_dim);
  const double mlp = shape.experts > 0 ? 3 * real(shape.experts) * real(shape.expert_feed_forward)
                                       : 3 * real(shape.feed_forward);
  const double parameters =
      real(shape.hidden) * (real(shape.layers) * (attention + mlp) + 2 * real(shape.vocabulary));
  if (parameters > 1e15) {
    faults.push_back({config.place, "these sizes make a model of more than 1e15 parameters",
                      "check hidden and intermediate sizes, heads, layers and vocabulary"});
  }
  if (shape.experts * shape.layers > 200'000) {
    faults.push_back({config.place,
                      std::to_string(shape.experts) + " experts in each of " + std::to_string(shape.layers) +
                          " layers are more than is supported",
                      "expected at most 200000 experts in all"});
  }
}

}  // namespace

std::vector<std::string> supported_model_types() {
  std::vector<std::string> types;
  for (const auto& [type, reader] : readers()) types.push_back(type);
  return types;
}

Architecture read_huggingface_config(const Value& config, const std::string& path) {
  if (config.kind != Value::Kind::table) {
    throw ScenarioError(Diagnostic{
        config.place, "a model configuration must be one object, not " + std::string(kind_name(config.kind)),
        "expected the config.json of a Hugging Face model"});
  }
  const NamedType named = type_of(config);
  const std::string known = joined(supported_model_types());
  const auto found = readers().find(named.type);
  if (found == readers().end()) {
    const bool exists = std::find(not_built().begin(), not_built().end(), named.type) != not_built().end();
    if (exists) {
      throw ScenarioError(
          Diagnostic{named.place, "model_type \"" + named.type + "\" is known, but not built yet",
                     "built: " + known + "; or give measured layers with workload = \"FILE.toml\""});
    }
    const std::string near = nearest_name(named.type, supported_model_types());
    throw ScenarioError(
        Diagnostic{named.place, "unknown model_type \"" + named.type + "\"",
                   (near.empty() ? "" : "did you mean \"" + near + "\"? ") + ("known: " + known)});
  }
  std::vector<Diagnostic> faults;
  ConfigReader reader(config, path, faults);
  Architecture architecture = found->second(reader);
  if (const auto shape = transformer_of(architecture)) check_magnitude(*shape, config, faults);
  if (!faults.empty()) throw ScenarioError(std::move(faults));
  return architecture;
}

}  // namespace stepcast
