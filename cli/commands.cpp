#include "cli/commands.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>

#include "base/diagnostic.hpp"
#include "cli/options.hpp"

namespace stepcast {
namespace {

constexpr Command all_commands[] = {
    {"run", "SCENARIO.toml [options]", "predict a scenario, or every point of its sweep", run_command},
    {"sweep", "SCENARIO.toml [options]", "large sweeps, resumable, also under mpirun", nullptr},
    {"plan", "SCENARIO.toml [options]", "find the best configuration that fits", nullptr},
    {"collectives", "SCENARIO.toml --op all_reduce [options]", "predict an nccl-tests table",
     collectives_command},
    {"topology", "show|import|export ...", "look at a cluster, or exchange it with NCCL", topology_command},
    {"validate", "--data FILE.csv [options]", "predictions against published measurements", validate_command},
    {"calibrate", "--out PROFILE.toml [options]",
     "measure this machine, or all that srun or mpirun started it on", calibrate_command},
    {"import", "FILE... --as KIND --out FILE.toml",
     "profiles, workloads and topologies from what other tools measured", import_command},
    {"verify", "SCENARIO.toml --profile PROFILE.toml", "train for real and compare", verify_command},
    {"doctor", "LOG|PROFILE --scenario SCENARIO.toml", "what is slower than it should be, and why",
     doctor_command},
    {"gui", "[SCENARIO.toml]", "the desktop program", nullptr},
};

const Command* find_command(std::string_view name) {
  const auto* place = std::find_if(std::begin(all_commands), std::end(all_commands),
                                   [&](const Command& c) { return c.name == name; });
  return place == std::end(all_commands) ? nullptr : place;
}

std::string list_of(bool built) {
  std::string text;
  for (const Command& command : all_commands) {
    if ((command.run != nullptr) != built) continue;
    text += "  " + std::string(command.name) + std::string(13 - command.name.size(), ' ');
    text += std::string(command.summary) + "\n";
  }
  return text;
}

std::string overview() {
  return "stepcast predicts how fast, and in how much memory, a model trains on a GPU cluster that may not "
         "exist yet,\n"
         "and says what limits it.\n"
         "\n"
         "usage: stepcast COMMAND [arguments]\n"
         "\n"
         "commands:\n" +
         list_of(true) + "\nknown, not built yet:\n" + list_of(false) +
         "\n"
         "start with:\n"
         "  stepcast run scenarios/8-to-32.toml        one 8-GPU server today: what would four give, on "
         "which network?\n"
         "  stepcast run --help                        how to ask your own question\n"
         "\n"
         "Results go to stdout, progress and notes to stderr.\n"
         "exit codes: 0 done; 1 a check that you asked for failed; 2 the input is wrong; 3 the machine lacks "
         "something;\n"
         "            70 a fault of stepcast itself; 130 interrupted\n";
}

[[noreturn]] void unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : all_commands) names.emplace_back(command.name);
  const bool file = word.find('/') != std::string::npos || word.ends_with(".toml");
  throw usage_error("unknown command \"" + word + "\"",
                    file ? "to predict a scenario: stepcast run " + word : suggest(word, names));
}

}  // namespace

std::span<const Command> commands() { return all_commands; }

ExitCode run_command_line(const Arguments& words) {
  if (words.empty()) {
    std::cerr << overview();
    return ExitCode::wrong_input;
  }
  std::string first = words.front();
  Arguments rest(words.begin() + 1, words.end());
  if (first == "help" && !rest.empty()) {  // "help run" is "run --help"
    first = rest.front();
    rest = {"--help"};
  }
  if (first == "--help" || first == "-h" || first == "help") {
    std::cout << overview();
    return ExitCode::done;
  }
  if (first == "--version") {
    std::cout << "stepcast " STEPCAST_VERSION "\n";
    return ExitCode::done;
  }
  const Command* command = find_command(first);
  if (!command) unknown_command(first);
  if (!command->run) {
    throw usage_error("stepcast " + first + ": known, not built yet",
                      "usage will be: stepcast " + first + " " + std::string(command->usage));
  }
  return command->run(rest);
}

}  // namespace stepcast
