#pragma once

#include <memory>
#include <string>

#include "calibrate/backend.hpp"
#include "cli/options.hpp"

namespace stepcast {

/// What --backend says, "host" or "cuda"; else cuda where the NVIDIA driver is loaded, else host.
/// @throws ScenarioError for another name
[[nodiscard]] std::string backend_choice(const ParsedOptions& options, const std::string& command);

/// @throws MachineError
[[nodiscard]] std::unique_ptr<Backend> open_backend(const std::string& name, Meeting& meeting);

/// What other people run on the devices of the ranks: "rank 3 on node7: pid 4711 (python)", a line each;
/// empty: nothing. All ranks call it and get the same.
[[nodiscard]] std::string neighbours_of_all(const Backend& backend, Meeting& meeting);

}  // namespace stepcast
