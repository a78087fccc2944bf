#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stepcast {

/// Processes other than `own` that take more than `share` of a core now ("pid 4711 (python)"): of `core`, or
/// of any core where it is empty. Looks at /proc for a fifth of a second.
[[nodiscard]] std::vector<std::string> busy_processes(std::optional<int> core, const std::vector<int>& own,
                                                      double share = 0.2);

}  // namespace stepcast
