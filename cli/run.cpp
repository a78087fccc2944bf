#include <algorithm>
#include <charconv>
#include <iostream>
#include <set>

#include "base/print.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/scenario_options.hpp"
#include "models/build_model.hpp"
#include "sim/report/report.hpp"
#include "sim/report/sentences.hpp"
#include "sim/scenario/scenario.hpp"
#include "topology/fabric.hpp"
#include "topology/node.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--set", "key=value",
     "set a scenario key; a list key=v1,v2 sweeps it; on a swept key it replaces the sweep", false},
    {"--profile", "FILE", "a calibrated profile, after the scenario's own; may be repeated", false},
    {"--json", "FILE|-", "write the result as JSON; \"-\": to stdout, and nothing else there", false},
    {"--trace", "FILE", "write one step as a Chrome / Perfetto trace; needs exactly one point", false},
    {"--require-fit", "", "exit code 1 when a point does not fit into the GPUs' memory", false},
    {"--unfolded", "", "simulate every rank instead of one per class of equal ranks", false},
    {"--jobs", "N", "threads; all cores by default", false},
    {"--progress", "", "show progress on stderr even when it is no terminal", false},
    {"--report", "FILE.html", "a report to look at and to run again", true},
    {"--explain", "", "why the step takes as long as it does", true},
    {"--help", "", "this text", false},
};

std::string names(const std::string& title, const std::vector<std::string>& known) {
  std::string text = "  " + title + ":";
  for (const std::string& name : known) {
    if (text.size() - text.rfind('\n') + name.size() > 105) text += "\n   ";
    text += " " + name;
  }
  return text + "\n";
}

std::string help() {
  return "usage: stepcast run SCENARIO.toml [options]\n"
         "\n"
         "Predicts step time, throughput, scaling efficiency and memory of a training step, and says what "
         "limits it.\n"
         "One row for each point of the scenario's [what_if] cross product.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "a scenario:\n"
         "  [model]\n"
         "  preset = \"llama-3.1-8b\"              # or huggingface = \"config.json\", or workload = "
         "\"measured.toml\"\n"
         "  sequence_length = 8192\n"
         "  [cluster]\n"
         "  nodes = 4\n"
         "  node = \"hgx-h100\"\n"
         "  fabric = \"infiniband-400g\"          # <ethernet|roce|infiniband|omnipath|efa|tcpx>-<N>g\n"
         "  [training]\n"
         "  strategy = \"fsdp\"                   # ddp zero1 zero2 zero3 fsdp hsdp\n"
         "  micro_batch_size = 1                # sequences per GPU in one forward and backward\n"
         "  gradient_accumulation_steps = 4     # micro-batches per optimizer step\n"
         "  [what_if]                           # optional: every combination is a point\n"
         "  \"cluster.nodes\" = [1, 2, 4]\n"
         "\n"
         "examples:\n"
         "  stepcast run scenarios/8-to-32.toml\n"
         "  stepcast run scenarios/8-to-32.toml --set training.strategy=ddp,zero1,fsdp --set "
         "cluster.nodes=4\n"
         "  stepcast run mine.toml --set cluster.link_rate=\"200 Gb/s\" --json - | jq "
         "'.points[].step_time_s'\n"
         "  stepcast run mine.toml --set cluster.nodes=4 --trace step.json    # open it in ui.perfetto.dev\n"
         "  stepcast run mine.toml --require-fit || echo \"needs more memory than there is\"\n"
         "\n"
         "names that are built in (a name with a '/' or ending in .toml or .json is a file):\n" +
         names("models", model_preset_names()) + names("nodes", node_preset_names()) +
         names("fabrics", fabric_preset_names()) + names("software", software_profile_names()) +
         "\n"
         "docs/cli.md says what the columns and the JSON fields mean; docs/scenario.md lists every key.\n";
}

int jobs_of(const ParsedOptions& options) {
  const auto text = options.value("--jobs");
  if (!text) return 0;
  int jobs = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), jobs);
  if (fault != std::errc() || end != text->data() + text->size() || jobs < 1) {
    throw usage_error("run: --jobs needs a whole number from 1, not \"" + *text + "\"");
  }
  return jobs;
}

std::string scenario_name(const ParsedOptions& options) {
  if (options.positionals.empty()) {
    throw usage_error("run: which scenario?",
                      "stepcast run SCENARIO.toml; stepcast run --help shows how to write one");
  }
  if (options.positionals.size() > 1) {
    throw usage_error("run: one scenario at a time, not \"" + options.positionals[1] + "\" too",
                      "a sweep asks many questions of one file: --set key=v1,v2");
  }
  const std::string& name = options.positionals.front();
  if (name.ends_with(".html")) throw usage_error("run: running a report (.html) again: known, not built yet");
  return name;
}

/// A trace shows one step, so the sweep must be narrowed down to one point.
void require_one_point(const ScenarioFile& file) {
  const std::size_t points = file.point_count();
  if (points == 1) return;
  std::string choice;
  for (const ScenarioFile::Swept& swept : file.swept) {
    if (swept.values.size() > 1) choice += " --set " + swept.key + "=" + swept.values.back().to_text();
  }
  throw usage_error("run: --trace needs exactly one point, and this sweep has " + std::to_string(points),
                    "choose one, for example:" + choice);
}

std::string settings_text(const PointReport& point) {
  std::string text;
  for (const auto& [key, value] : point.settings)
    text += (text.empty() ? "" : ", ") + key + " = " + value.to_text();
  return text.empty() ? "the scenario" : text;
}

/// Says of every point that does not fit by how much; true when all fit.
bool all_fit(const Report& report) {
  bool fit = true;
  for (const PointReport& point : report.points) {
    if (!point.invalid.empty() || point.memory.fits()) continue;
    fit = false;
    const Bytes needed = point.memory.allocated_peak() + point.memory.framework;
    std::cerr << "does not fit: " << settings_text(point) << ": " << print_size(needed) << " of "
              << print_size(point.memory.capacity) << " per GPU, "
              << print_size(needed - point.memory.capacity) << " too much\n";
  }
  return fit;
}

void write_trace(const ScenarioFile& file, const std::string& path) {
  const std::vector<ScenarioPoint> points = expand(file);
  if (!points.front().scenario) return;  // the table has said why it cannot exist
  const Scenario& scenario = *points.front().scenario;
  const auto [plan, timeline] = Predictor(&interrupt_requested()).trace(scenario);
  write_atomically(path, to_chrome_trace(plan, timeline, scenario.cluster.gpus_per_node));
}

/// The fault of each point, once.
[[noreturn]] void show_why_none_exists(const Report& report, const std::string& scenario) {
  std::vector<Diagnostic> faults;
  std::set<std::string> seen;
  for (const PointReport& point : report.points) {
    Diagnostic fault = point.fault.value_or(Diagnostic{});
    if (fault.message.empty()) fault.message = point.invalid;
    if (fault.place.file.empty()) fault.place.file = scenario;
    if (seen.insert(render(fault)).second) faults.push_back(std::move(fault));
  }
  throw ScenarioError(std::move(faults));
}

bool none_exists(const Report& report) {
  return std::all_of(report.points.begin(), report.points.end(),
                     [](const PointReport& point) { return !point.invalid.empty(); });
}

}  // namespace

ExitCode run_command(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "run");
  if (options.has("--help")) {
    std::cout << help();
    return ExitCode::done;
  }
  const std::string name = scenario_name(options);
  RunOptions run_options;
  run_options.jobs = jobs_of(options);
  run_options.unfolded = options.has("--unfolded");
  run_options.cancel = &interrupt_requested();
  const auto json = options.value("--json"), trace = options.value("--trace");
  const bool json_to_stdout = json == "-";
  run_options.companions = !json_to_stdout;
  if (json && !json_to_stdout) require_writable(*json, "--json");
  if (trace) require_writable(*trace, "--trace");

  const ScenarioFile file = load_scenario(name, overrides_of(options, "run"), options.values("--profile"));
  if (trace) require_one_point(file);

  Report report;
  {
    Progress progress(options.has("--progress"));
    run_options.progress = [&](std::size_t done, std::size_t total) { progress.report(done, total); };
    report = run(file, run_options);
  }
  if (json_to_stdout) {
    std::cout << to_json(report);
  } else {
    if (json) write_atomically(*json, to_json(report));
    std::cout << to_table(report);
  }
  if (trace && !none_exists(report)) write_trace(file, *trace);
  for (const std::string& note : notes(report)) std::cerr << "note: " << note << "\n";

  if (none_exists(report)) show_why_none_exists(report, name);
  if (options.has("--require-fit") && !all_fit(report)) return ExitCode::check_failed;
  return ExitCode::done;
}

}  // namespace stepcast
