#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace stepcast {

/// `import --as profile`: what other programs measured, as a profile.
[[nodiscard]] ExitCode import_profile(const ParsedOptions& options);

}  // namespace stepcast
