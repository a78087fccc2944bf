#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// A key of [training] that only some strategies or frameworks read.
struct SpecialKey {
  std::string_view key;
  std::string_view unit;
  std::string_view preset_value;  ///< default, as text
  std::string_view meaning;
  bool (*used)(Strategy strategy, const std::string& software);
};

/// Every such key; docs/scenario.md prints this table, and a known key that goes unused is a note, not a
/// fault.
[[nodiscard]] const std::vector<SpecialKey>& special_keys();

/// False for a key of [training] ("bucket_size" or "training.bucket_size") that this strategy and software
/// ignore.
[[nodiscard]] bool key_is_used(std::string_view key, Strategy strategy, const std::string& software);

}  // namespace stepcast
