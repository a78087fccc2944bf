#include "models/build_model.hpp"

#include "base/document.hpp"
#include "models/encoder_decoder.hpp"
#include "models/huggingface.hpp"
#include "models/mlp.hpp"
#include "models/presets.hpp"
#include "models/resnet.hpp"
#include "models/transformer.hpp"
#include "models/vision_transformer.hpp"
#include "models/workload.hpp"

namespace stepcast {
namespace {

/// `default_length`: the preset's own; else the model's maximum.
Model build(const Architecture& architecture, const std::string& name, const ModelRequest& request,
            std::optional<std::int64_t> default_length, const SourcePlace& place) {
  if (const auto* resnet = std::get_if<ResnetArchitecture>(&architecture)) return build_resnet(*resnet, name);
  if (const auto* mlp = std::get_if<MlpArchitecture>(&architecture)) return build_mlp(*mlp, name);
  if (const auto* vit = std::get_if<VisionTransformerArchitecture>(&architecture)) {
    return build_vision_transformer(*vit, name);
  }
  const auto* t5 = std::get_if<EncoderDecoderArchitecture>(&architecture);
  const auto& shape = t5 != nullptr ? t5->stack : std::get<TransformerArchitecture>(architecture);
  const std::int64_t tokens =
      request.sequence_length ? *request.sequence_length : default_length.value_or(shape.max_positions);
  if (tokens < 1 || tokens > 1'000'000'000) {
    throw ScenarioError(
        Diagnostic{place, "sequence_length is " + std::to_string(tokens), "expected at least 1 token"});
  }
  if (shape.positions == Positions::learned && !shape.positions_follow_sequence &&
      tokens > shape.max_positions) {
    throw ScenarioError(Diagnostic{place,
                                   "sequence_length " + std::to_string(tokens) + " is longer than the " +
                                       std::to_string(shape.max_positions) + " learned positions of " + name,
                                   "expected at most " + std::to_string(shape.max_positions)});
  }
  return t5 != nullptr ? build_encoder_decoder(*t5, name, tokens) : build_transformer(shape, name, tokens);
}

Model build_preset(const ModelRequest& request, const SourcePlace& place) {
  if (const ModelPreset* preset = find_model_preset(request.preset)) {
    return build(preset->architecture, preset->name, request, preset->sequence_length, place);
  }
  std::vector<std::string> names;
  for (const ModelPreset& preset : model_presets()) {
    names.push_back(preset.name);
    names.insert(names.end(), preset.aliases.begin(), preset.aliases.end());
  }
  const std::string near = nearest_name(request.preset, names);
  throw ScenarioError(Diagnostic{
      place, "unknown model preset \"" + request.preset + "\"",
      near.empty() ? suggest(request.preset, model_preset_names()) : "did you mean \"" + near + "\"?"});
}

/// "config.json" says nothing: its folder's name does.
std::string name_of_file(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  const std::string folder = path.parent_path().filename().string();
  return stem == "config" && !folder.empty() && folder != "." && folder != ".." ? folder : stem;
}

}  // namespace

Model build_model(const ModelRequest& request, const SourcePlace& request_place) {
  if (!request.preset.empty()) return build_preset(request, request_place);
  if (request.config) {
    return build(read_huggingface_config(*request.config, "model.config"), "model.config", request,
                 std::nullopt, request_place);
  }
  const auto& path = request.huggingface.empty() ? request.workload : request.huggingface;
  STEPCAST_CHECK(!path.empty(), "a model request names a preset or a file");
  const std::string shown = request.as_given.empty() ? path.string() : request.as_given;
  std::string text;
  try {
    text = read_file(path);
  } catch (const ScenarioError& error) {
    // The scenario names the file: that is where the mistake is.
    throw ScenarioError(
        Diagnostic{request_place, "can't read \"" + shown + "\"", error.diagnostics().front().message});
  }
  if (request.huggingface.empty()) {
    Model model = read_workload(text, shown);
    // A measured workload does not say what a sample is; the scenario may.
    model.sequence_length = request.sequence_length.value_or(0);
    return model;
  }
  const Architecture architecture = read_huggingface_config(parse_json(text, shown), "");
  return build(architecture, name_of_file(path), request, std::nullopt, request_place);
}

std::vector<std::string> model_preset_names() {
  std::vector<std::string> names;
  for (const ModelPreset& preset : model_presets()) names.push_back(preset.name);
  return names;
}

bool is_model_preset(const std::string& name) { return find_model_preset(name) != nullptr; }

}  // namespace stepcast
