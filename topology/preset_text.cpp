#include "topology/preset_text.hpp"

#include <filesystem>

#include "base/document.hpp"

namespace stepcast {

bool is_path(const std::string& name_or_path) {
  return name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml");
}

std::vector<std::string> preset_names(std::span<const EmbeddedFile> files) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files) names.emplace_back(file.name);
  return names;
}

PresetText find_preset(const std::string& name_or_path, const SourcePlace& place,
                       std::span<const EmbeddedFile> files, const std::string& what,
                       const std::string& folder) {
  if (is_path(name_or_path)) {
    const std::filesystem::path path(name_or_path);
    std::error_code trouble;
    if (!std::filesystem::is_regular_file(path, trouble)) {
      throw ScenarioError(
          Diagnostic{place, "there is no " + what + " file \"" + name_or_path + "\"",
                     "paths in a file are relative to that file; a name without '/' is a preset"});
    }
    return {path.stem().string(), name_or_path, read_file(path)};
  }
  for (const EmbeddedFile& file : files) {
    if (file.name == name_or_path) {
      return {name_or_path, folder + name_or_path + ".toml", std::string(file.text)};
    }
  }
  throw ScenarioError(Diagnostic{place, "unknown " + what + " \"" + name_or_path + "\"",
                                 suggest(name_or_path, preset_names(files))});
}

}  // namespace stepcast
