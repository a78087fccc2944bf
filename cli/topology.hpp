#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace stepcast {

// The parts of `stepcast topology`, one file each; `arguments` without their own name.
[[nodiscard]] ExitCode topology_show(const Arguments& arguments);
[[nodiscard]] ExitCode topology_export(const Arguments& arguments);
[[nodiscard]] ExitCode topology_import(const Arguments& arguments);

/// `command` is what the user typed: "topology import", or "import --as topology".
[[nodiscard]] ExitCode import_topology_file(const std::string& command, const std::string& file,
                                            const std::optional<std::string>& out,
                                            const std::vector<std::string>& settings);

}  // namespace stepcast
