#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/embedded.hpp"

namespace stepcast {

/// The text of a preset or of a user's file.
struct PresetText {
  std::string name;  ///< preset name, or the file's name without extension
  std::string file;  ///< what places in the text carry
  std::string text;
};

/// A name that contains '/' or ends in ".toml" is a path.
[[nodiscard]] bool is_path(const std::string& name_or_path);
[[nodiscard]] std::vector<std::string> preset_names(std::span<const EmbeddedFile> files);

/// @param what    "node" or "fabric", for messages
/// @param folder  what stands before the file name of a preset in places ("presets/nodes/")
/// @throws ScenarioError at `place`: no such preset (with a suggestion), or a file that cannot be read
[[nodiscard]] PresetText find_preset(const std::string& name_or_path, const SourcePlace& place,
                                     std::span<const EmbeddedFile> files, const std::string& what,
                                     const std::string& folder);

}  // namespace stepcast
