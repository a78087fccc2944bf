#pragma once

#include <string>
#include <vector>

#include "base/document.hpp"
#include "models/architecture.hpp"

namespace stepcast {

/// Hyper-parameters out of a Hugging Face config.json (or a preset's [config] table, which has the same
/// keys). The family is `model_type`, else the first of `architectures`. Sizes come from the numbers alone:
/// names may lie. Absent keys get the defaults of the Hugging Face configuration class, except that
/// num_key_value_heads defaults to the number of heads.
/// @param path  the dotted name of the table, as messages show it; "" for the file itself
/// @throws ScenarioError with all faults found: an unknown or not yet supported model_type, missing or
/// nonsensical keys
[[nodiscard]] Architecture read_huggingface_config(const Value& config, const std::string& path);

/// model_type values that are built, sorted.
[[nodiscard]] std::vector<std::string> supported_model_types();

}  // namespace stepcast
