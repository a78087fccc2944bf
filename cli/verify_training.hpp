#pragma once

#include <string>

#include "calibrate/verify/verification.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"

namespace stepcast {

/// What --tolerance says. @throws ScenarioError when it is no share
[[nodiscard]] double tolerance_of(const ParsedOptions& options);

/// As --json says: to stdout alone, or to a file and the table to stdout.
void write_result(const ParsedOptions& options, const Verification& verification);

/// verify without --measured: trains the scenario's points on the ranks that were started together. Faults
/// are thrown once the ranks have parted, and by one of them where all have the same.
/// @throws ScenarioError, MachineError, Interrupted (what is done is printed before)
[[nodiscard]] ExitCode verify_by_training(const ParsedOptions& options, const std::string& scenario);

}  // namespace stepcast
