#include <algorithm>
#include <charconv>
#include <iostream>

#include "calibrate/verify/measured_log.hpp"
#include "calibrate/verify/verification.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "cli/scenario_options.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--profile", "FILE", "the calibrated profile to predict from; may be repeated", false},
    {"--measured", "LOG", "take the measured side from the log of your own training job", false},
    {"--tolerance", "15%", "greatest relative error of the step time; beyond it the exit code is 1", false},
    {"--set", "key=value", "set a scenario key; a list key=v1,v2 sweeps it", false},
    {"--json", "FILE|-", "write the result as JSON; \"-\": to stdout, and nothing else there", false},
    {"--help", "", "this text", false},
};

std::string help() {
  return "usage: stepcast verify SCENARIO.toml --measured LOG [--profile PROFILE.toml] [options]\n"
         "\n"
         "Predicts the scenario and prints the prediction beside what a real run took.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "examples:\n"
         "  stepcast verify mine.toml --measured train.log\n"
         "  stepcast verify mine.toml --measured train.log --profile my-cluster.toml --tolerance 10%\n"
         "\n"
         "docs/verify.md lists the logs that are understood and the fields of the JSON.\n";
}

double tolerance_of(const ParsedOptions& options) {
  const auto text = options.value("--tolerance");
  if (!text) return Verification{}.tolerance;
  double value = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), value);
  std::string unit(end, text->data() + text->size());
  std::erase(unit, ' ');
  const bool percent = unit == "%";
  if (fault != std::errc() || !(value > 0) || !(percent || unit.empty()) || (!percent && value > 1))
    throw usage_error("verify: --tolerance \"" + *text + "\" is no share", "for example 15% or 0.15");
  return percent ? value / 100 : value;
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

void write_result(const ParsedOptions& options, const Verification& verification) {
  const auto file = options.value("--json");
  if (file == "-") {
    std::cout << to_json(verification);
    return;
  }
  if (file) write_atomically(*file, to_json(verification));
  std::cout << to_table(verification);
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
  const auto log = options.value("--measured");
  if (!log)
    throw usage_error("verify: training on this hardware is known, not built yet",
                      "compare with a log of yours: --measured train.log");
  if (const auto json = options.value("--json"); json && json != "-") require_writable(*json, "--json");
  const ScenarioFile file = load_scenario(name, overrides_of(options, "verify"), options.values("--profile"));
  Verification verification = against_log(file, *log);
  verification.tolerance = tolerance;
  write_result(options, verification);
  return verification.within_tolerance() ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace stepcast
