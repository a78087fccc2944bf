#pragma once

#include "cli/options.hpp"

namespace stepcast {

/// `import --as workload`: a trace as measured layers.
[[nodiscard]] ExitCode import_workload(const ParsedOptions& options);

}  // namespace stepcast
