#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"

namespace stepcast {

/// What follows the command's name on the command line.
using Arguments = std::vector<std::string>;

/// One command of the program. To add one: write cli/NAME.cpp with its function and help, and set them in
/// commands.cpp. A command without a function is known, but not built yet.
struct Command {
  std::string_view name;
  std::string_view usage;    ///< arguments on one line
  std::string_view summary;  ///< one line
  ExitCode (*run)(const Arguments& arguments){};
};

/// All commands of the product, in the order in which help lists them.
[[nodiscard]] std::span<const Command> commands();

/// Finds and runs the command, or shows help. Throws what the command throws, and ScenarioError for an
/// unknown one.
[[nodiscard]] ExitCode run_command_line(const Arguments& words);

/// True once the user has asked to stop (SIGINT); long work polls it.
[[nodiscard]] const std::atomic<bool>& interrupt_requested();

// One file per command.
[[nodiscard]] ExitCode run_command(const Arguments& arguments);          // cli/run.cpp
[[nodiscard]] ExitCode validate_command(const Arguments& arguments);     // cli/validate.cpp
[[nodiscard]] ExitCode collectives_command(const Arguments& arguments);  // cli/collectives.cpp
[[nodiscard]] ExitCode topology_command(const Arguments& arguments);     // cli/topology.cpp
[[nodiscard]] ExitCode calibrate_command(const Arguments& arguments);    // cli/calibrate.cpp
[[nodiscard]] ExitCode import_command(const Arguments& arguments);       // cli/import.cpp
[[nodiscard]] ExitCode verify_command(const Arguments& arguments);       // cli/verify.cpp
[[nodiscard]] ExitCode doctor_command(const Arguments& arguments);       // cli/doctor.cpp

}  // namespace stepcast
