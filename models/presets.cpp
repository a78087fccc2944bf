#include "models/presets.hpp"

#include <algorithm>
#include <span>

#include "base/document.hpp"
#include "base/embedded.hpp"
#include "base/table_reader.hpp"

namespace stepcast {

std::span<const EmbeddedFile> embedded_model_presets();

namespace {

ModelPreset read_preset(const EmbeddedFile& file) {
  const std::string place = "models/presets/" + std::string(file.name) + ".toml";
  const Value document = parse_toml(file.text, place);
  std::vector<Diagnostic> faults;
  TableReader reader(document, "", faults);
  reader.require("source", "where the figures are from");
  reader.require("config", "the keys of a config.json");
  ModelPreset preset;
  preset.name = std::string(file.name);
  preset.source = reader.string("source").value_or("");
  preset.aliases = reader.strings("aliases").value_or(std::vector<std::string>{});
  preset.sequence_length = reader.integer("sequence_length", 1);
  const bool follows = reader.choice("position_table", {"sequence"}).has_value();
  const Value* config = reader.table("config");
  reader.finish();
  // A shipped file that cannot be read is our own fault, whatever threw.
  STEPCAST_CHECK(faults.empty() && config != nullptr, place + " is faulty");
  preset.architecture = read_huggingface_config(*config, "config");
  if (auto* transformer = std::get_if<TransformerArchitecture>(&preset.architecture)) {
    transformer->positions_follow_sequence = follows;
  }
  return preset;
}

}  // namespace

const std::vector<ModelPreset>& model_presets() {
  static const std::vector<ModelPreset> presets = [] {
    std::vector<ModelPreset> all;
    for (const EmbeddedFile& file : embedded_model_presets()) all.push_back(read_preset(file));
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return all;
  }();
  return presets;
}

const ModelPreset* find_model_preset(const std::string& name_or_alias) {
  for (const ModelPreset& preset : model_presets()) {
    if (preset.name == name_or_alias ||
        std::find(preset.aliases.begin(), preset.aliases.end(), name_or_alias) != preset.aliases.end()) {
      return &preset;
    }
  }
  return nullptr;
}

}  // namespace stepcast
