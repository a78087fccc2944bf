#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/huggingface.hpp"

namespace stepcast {

/// A model that ships with the binary: models/presets/NAME.toml, whose [config] has the keys of a
/// config.json.
struct ModelPreset {
  std::string name;
  std::vector<std::string> aliases;
  std::string source;
  std::optional<std::int64_t> sequence_length;  ///< default, where it is not the model's maximum
  Architecture architecture;
};

/// All presets, sorted by name.
[[nodiscard]] const std::vector<ModelPreset>& model_presets();

/// The preset of this name or alias; nullptr when there is none.
[[nodiscard]] const ModelPreset* find_model_preset(const std::string& name_or_alias);

}  // namespace stepcast
