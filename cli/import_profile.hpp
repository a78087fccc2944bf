#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace stepcast {

/// The fault of a --json where no trace is read as a profile.
[[nodiscard]] ScenarioError json_is_of_traces();

/// `import --as profile`: what other programs measured, as a profile.
[[nodiscard]] ExitCode import_profile(const ParsedOptions& options);

}  // namespace stepcast
