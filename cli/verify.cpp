#include <algorithm>
#include <iostream>

#include "calibrate/verify/measured_log.hpp"
#include "calibrate/verify/verification.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "cli/scenario_options.hpp"
#include "cli/verify_training.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--backend", "host|cuda", "train on CPU cores or on GPUs; by default what the scenario's node has",
     false},
    {"--profile", "FILE", "the calibrated profile to predict from; may be repeated", false},
    {"--measured", "LOG", "take the measured side from the log of your own training job", false},
    {"--tolerance", "15%", "greatest relative error of the step time; beyond it the exit code is 1", false},
    {"--steps", "N", "steps to time for each point, after two of warm-up; 10 by default", false},
    {"--seconds", "T", "30, 500ms, 3m: fewer steps, but at least three, when a point would take longer",
     false},
    {"--set", "key=value", "set a scenario key; a list key=v1,v2 sweeps it", false},
    {"--json", "FILE|-", "write the result as JSON; \"-\": to stdout, and nothing else there", false},
    {"--progress", "", "show progress on stderr even when it is no terminal", false},
    {"--help", "", "this text", false},
};

std::string help() {
  return "usage: stepcast verify SCENARIO.toml --profile PROFILE.toml [options]\n"
         "       stepcast verify SCENARIO.toml --measured LOG [options]\n"
         "\n"
         "Predicts every point of the scenario, trains it on this hardware with stepcast's own trainer, and "
         "prints both;\n"
         "or lays the log of your own training job beside the prediction. Start it as calibrate is started: "
         "one rank for\n"
         "each device of the scenario, by mpirun or srun.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "examples:\n"
         "  mpirun -n 2 --host node1,node2 stepcast verify mine.toml --profile two-hosts.toml\n"
         "  srun --ntasks-per-node=8 stepcast verify mine.toml --profile my-cluster.toml --json "
         "verified.json\n"
         "  stepcast verify mine.toml --measured train.log --profile my-cluster.toml --tolerance 10%\n"
         "\n"
         "docs/verify.md lists the logs that are understood and the fields of the JSON.\n";
}

std::string scenario_name(const ParsedOptions& options) {
  if (options.positionals.size() == 1) return options.positionals.front();
  throw usage_error(options.positionals.empty()
                        ? "verify: which scenario?"
                        : "verify: one scenario at a time, not \"" + options.positionals[1] + "\" too",
                    "stepcast verify SCENARIO.toml --profile PROFILE.toml");
}

/// One log is one point.
void require_one_point(const ScenarioFile& file) {
  if (file.point_count() == 1) return;
  std::string keys;
  for (const ScenarioFile::Swept& swept : file.swept)
    if (swept.values.size() > 1) keys += " --set " + swept.key + "=" + swept.values.front().to_text();
  throw usage_error("verify: one log is one run, and the scenario asks " +
                        std::to_string(file.point_count()) + " questions",
                    "say which of them it was, for example" + keys);
}

Verification against_log(const ScenarioFile& file, const std::string& log) {
  require_one_point(file);
  const std::vector<ScenarioPoint> points = expand(file);
  const ScenarioPoint& point = points.front();
  if (!point.scenario) throw ScenarioError(*point.fault);
  Predictor predictor(&interrupt_requested());
  LoggedPoint logged = verify_against_log(*point.scenario, log, predictor);
  logged.point.settings = point.settings;
  for (const std::string& note : logged.notes) std::cerr << "note: " << log << ": " << note << "\n";
  for (const std::string& note : logged.contradictions)
    std::cerr << "note: " << log << ": not the scenario's job: " << note << "\n";
  Verification verification;
  verification.backend = "log";
  verification.hardware = std::move(logged.hardware);
  verification.points.push_back(std::move(logged.point));
  return verification;
}

}  // namespace

ExitCode verify_command(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "verify");
  if (options.has("--help")) {
    std::cout << help();
    return ExitCode::done;
  }
  const std::string name = scenario_name(options);
  const double tolerance = tolerance_of(options);
  if (const auto json = options.value("--json"); json && json != "-") require_writable(*json, "--json");
  const auto log = options.value("--measured");
  if (!log) return verify_by_training(options, name);
  const ScenarioFile file = load_scenario(name, overrides_of(options, "verify"), options.values("--profile"));
  Verification verification = against_log(file, *log);
  verification.tolerance = tolerance;
  write_result(options, verification);
  return verification.within_tolerance() ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace stepcast
