#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/document.hpp"
#include "models/model.hpp"

namespace stepcast {

/// The [model] section of a scenario, paths already resolved.
struct ModelRequest {
  std::string preset;                 ///< a preset name or alias, or ...
  std::filesystem::path huggingface;  ///< ... a Hugging Face config.json, or ...
  std::optional<Value> config;     ///< ... the keys of a config.json, written in the scenario itself, or ...
  std::filesystem::path workload;  ///< ... measured layers; exactly one of the four is set
  std::string as_given;            ///< the path as the user wrote it: faults name it
  std::optional<std::int64_t>
      sequence_length;  ///< tokens (default: the model's own maximum); ignored by image models
};

/// Layers, operators and parameters of the requested model.
/// @throws ScenarioError with the file's places for a faulty config.json or workload; an unknown preset is a
/// fault at
///         `request_place` with the nearest names.
[[nodiscard]] Model build_model(const ModelRequest& request, const SourcePlace& request_place);

/// Names of the built-in presets, sorted; aliases (llama3-8b) are not listed.
[[nodiscard]] std::vector<std::string> model_preset_names();
/// True for a preset or an alias.
[[nodiscard]] bool is_model_preset(const std::string& name);

}  // namespace stepcast
