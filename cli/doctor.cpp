#include <iostream>

#include "calibrate/verify/diagnosis.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "cli/scenario_options.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--scenario", "FILE", "the hardware that was measured; for a training log also the job", false},
    {"--set", "key=value", "set a scenario key; may be repeated", false},
    {"--json", "FILE|-", "write the result as JSON; \"-\": to stdout, and nothing else there", false},
    {"--help", "", "this text", false},
};

std::string help() {
  return "usage: stepcast doctor LOG|PROFILE --scenario SCENARIO.toml [options]\n"
         "\n"
         "Lays what was measured beside what the scenario's hardware should reach. What is below a half is "
         "named, with its\n"
         "likely cause. LOG: output of nccl-tests (best with NCCL_DEBUG=INFO), or a training log. PROFILE: "
         "what calibrate\n"
         "wrote. Exit code 1 when something is found.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "examples:\n"
         "  NCCL_DEBUG=INFO all_reduce_perf -b 8 -e 8G -f 2 -g 8 > nccl.log; stepcast doctor nccl.log "
         "--scenario "
         "mine.toml\n"
         "  stepcast doctor train.log --scenario mine.toml --set cluster.nodes=4\n"
         "  stepcast doctor my-cluster.toml --scenario mine.toml --json -\n"
         "\n"
         "docs/verify.md says which causes are known and how they are told apart.\n";
}

}  // namespace

ExitCode doctor_command(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "doctor");
  if (options.has("--help")) {
    std::cout << help();
    return ExitCode::done;
  }
  if (options.positionals.size() != 1)
    throw usage_error(options.positionals.empty()
                          ? "doctor: which log or profile?"
                          : "doctor: one file at a time, not \"" + options.positionals[1] + "\" too",
                      "stepcast doctor nccl.log --scenario SCENARIO.toml");
  const auto scenario = options.value("--scenario");
  if (!scenario)
    throw usage_error("doctor: measured on which hardware?",
                      "--scenario SCENARIO.toml says what it should reach");
  const auto json = options.value("--json");
  if (json && json != "-") require_writable(*json, "--json");
  const ScenarioFile file = load_scenario(*scenario, overrides_of(options, "doctor"));
  const std::string& measured = options.positionals.front();
  const Diagnosis diagnosis = measured.ends_with(".toml") ? diagnose_profile(measured, cluster_of(file))
                                                          : diagnose_log(measured, file);
  if (json == "-") {
    std::cout << to_json(diagnosis);
  } else {
    if (json) write_atomically(*json, to_json(diagnosis));
    std::cout << to_text(diagnosis);
  }
  for (const std::string& note : diagnosis.notes) std::cerr << "note: " << note << "\n";
  return diagnosis.found() ? ExitCode::check_failed : ExitCode::done;
}

}  // namespace stepcast
