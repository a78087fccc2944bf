#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// Every `--set key=value` of the command line. @throws ScenarioError with all that are none
[[nodiscard]] std::vector<Override> overrides_of(const ParsedOptions& options, const std::string& command);

}  // namespace stepcast
