#include "sim/validate/validate.hpp"

#include <chrono>
#include <ctime>
#include <iostream>

#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "sim/validate/map_collective.hpp"
#include "sim/validate/output.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--data", "FILE.csv", "published measurements; may be repeated", false},
    {"--collectives", "FILE.csv", "published nccl-tests tables; may be repeated", false},
    {"--json", "FILE|-", "write the result as JSON; \"-\": to stdout, and nothing else there", false},
    {"--csv", "FILE", "write the predicted rows as CSV", false},
    {"--docs", "FILE.md", "write the summary in Markdown, with date and command (docs/fidelity.md)", false},
    {"--progress", "", "show progress on stderr even when it is no terminal", false},
    {"--anchor", "", "predict from each group's smallest run", true},
    {"--plot", "FILE.svg", "predicted against measured", true},
    {"--help", "", "this text", false},
};

std::string help() {
  return "usage: stepcast validate [--data FILE.csv]... [--collectives FILE.csv]... [options]\n"
         "\n"
         "Predicts published measurements of training throughput and prints how far off the predictions are, "
         "by "
         "source, GPU,\n"
         "model, software, strategy and scale. Rows that can't be compared are skipped, each with its "
         "reason; what a "
         "row does\n"
         "not say and a rule filled in is listed as assumed.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "A data file is a CSV whose header has at least these columns, in any order; an empty cell means "
         "that the "
         "source\n"
         "does not say:\n" +
         [] {
           std::string text = " ";
           for (const std::string_view column : measured_columns()) {
             if (text.size() - text.rfind('\n') + column.size() > 110) text += "\n ";
             text += " " + std::string(column);
           }
           return text;
         }() +
         "\n\n"
         "Exit code 0 when it ran, however large the errors are.\n";
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

/// The command as it was typed; of many data files, the first and how many there are.
std::string command_text(const Arguments& arguments, std::size_t files) {
  constexpr std::size_t listed = 3;
  std::string text = "stepcast validate";
  std::size_t seen = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool data = arguments[i] == "--data" && i + 1 < arguments.size();
    if (data && files > listed && seen++ > 0) {
      ++i;
      continue;
    }
    text += " " + arguments[i];
    if (data && files > listed) text += " " + arguments[++i] + " ... (" + std::to_string(files) + " files)";
  }
  return text;
}

}  // namespace

ExitCode validate_command(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "validate");
  if (options.has("--help")) {
    std::cout << help();
    return ExitCode::done;
  }
  if (!options.positionals.empty()) {
    throw usage_error("validate: unexpected \"" + options.positionals.front() + "\"",
                      "measurements are given by --data " + options.positionals.front());
  }
  const std::vector<std::string> files = options.values("--data");
  const std::vector<std::string> collective_files = options.values("--collectives");
  if (files.empty() && collective_files.empty()) {
    throw usage_error(
        "validate: --data FILE.csv is missing: a table of published measurements",
        "stepcast validate --data measured.csv; its header has the columns source, gpu, gpus_total, "
        "model, framework, micro_batch_per_gpu, precision, metric_name, metric_value, metric_unit and "
        "more: stepcast validate --help lists all; stepcast ships no data. Of collectives: --collectives "
        "FILE.csv");
  }
  const auto json = options.value("--json"), csv = options.value("--csv"), docs = options.value("--docs");
  const bool json_to_stdout = json == "-";
  if (json && !json_to_stdout) require_writable(*json, "--json");
  if (csv) require_writable(*csv, "--csv");
  if (docs) require_writable(*docs, "--docs");
  if (csv && !files.empty() && !collective_files.empty()) {
    throw usage_error("validate: --csv takes rows of one kind, --data or --collectives",
                      "run it once for each, or use --json, which holds both");
  }

  std::vector<MeasuredTable> tables;
  for (const std::string& file : files) tables.push_back(read_measured(file));
  std::vector<MeasuredTable> collective_tables;
  for (const std::string& file : collective_files)
    collective_tables.push_back(read_measured(file, collective_columns()));
  Validation validation;
  CollectiveValidation collectives;
  {
    Progress progress(options.has("--progress"));
    ValidateOptions validate_options;
    validate_options.cancel = &interrupt_requested();
    validate_options.progress = [&](std::size_t done, std::size_t total) { progress.report(done, total); };
    if (!files.empty()) validation = validate(tables, Mapping::shipped(), validate_options);
    if (!collective_files.empty())
      collectives = validate_collectives(collective_tables, shipped_collective_rules(), validate_options);
  }
  for (const std::string& note : collectives.notes) std::cerr << "note: " << note << "\n";
  for (const std::string& note : validation.notes) std::cerr << "note: " << note << "\n";
  if (json_to_stdout) {
    std::cout << to_json(validation, collectives);
  } else {
    if (json) write_atomically(*json, to_json(validation, collectives));
    if (!files.empty()) std::cout << to_text(validation);
    if (!files.empty() && !collective_files.empty()) std::cout << "\n";
    if (!collective_files.empty()) std::cout << to_text(collectives);
  }
  if (csv) write_atomically(*csv, files.empty() ? to_csv(collectives) : to_csv(validation));
  if (docs) {
    const std::string command = command_text(arguments, files.size());
    std::string page;
    if (!files.empty()) page = to_markdown(validation, today(), command);
    if (!files.empty() && !collective_files.empty()) page += "\n";
    if (!collective_files.empty()) page += to_markdown(collectives, today(), command);
    write_atomically(*docs, page);
  }
  return ExitCode::done;
}

}  // namespace stepcast
