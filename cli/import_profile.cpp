#include "cli/import_profile.hpp"

#include <charconv>
#include <iostream>

#include "base/quantity.hpp"
#include "calibrate/import/byte_source.hpp"
#include "calibrate/import/input_kind.hpp"
#include "calibrate/import/log_collectives.hpp"
#include "calibrate/import/nsys_csv.hpp"
#include "calibrate/import/trace_output.hpp"
#include "calibrate/import/trace_profile.hpp"
#include "cli/files.hpp"
#include "cli/trace_file.hpp"
#include "sim/report/collective_comparison.hpp"
#include "sim/report/nccl_tests.hpp"
#include "sim/scenario/scenario.hpp"
#include "topology/fabric.hpp"
#include "topology/node.hpp"

namespace stepcast {
namespace {

std::optional<int> count_option(const ParsedOptions& options, const char* name) {
  const auto text = options.value(name);
  if (!text) return std::nullopt;
  int count = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), count);
  if (fault != std::errc() || end != text->data() + text->size() || count < 1)
    throw usage_error("import: " + std::string(name) + " \"" + *text + "\" is no count above 0",
                      "for example " + std::string(name) + " 2");
  return count;
}

SourcePlace place_of(const char* option) {
  SourcePlace place;
  place.file = option;
  return place;
}

/// What the command line says of the cluster, and what its scenario says where that is silent.
LogContext context_of(const ParsedOptions& options) {
  LogContext context;
  context.in_place = options.has("--in-place");
  context.ranks = count_option(options, "--ranks");
  context.nodes = count_option(options, "--nodes");
  if (const auto name = options.value("--operation")) {
    context.operation = operation_named(*name);
    if (!context.operation) {
      std::vector<std::string> known;
      for (const Operation operation : nccl_tests_operations())
        known.emplace_back(nccl_tests_name(operation));
      throw usage_error("import: unknown operation \"" + *name + "\"", suggest(*name, known));
    }
  }
  // Names of files are looked up too: the section bears the name that a scenario with that file has.
  if (const auto name = options.value("--node")) context.node = load_node(*name, place_of("--node")).name;
  if (const auto name = options.value("--fabric"))
    context.fabric = load_fabric(*name, place_of("--fabric")).name;
  if (const auto text = options.value("--link-rate")) {
    context.link_rate = parse_rate(*text);
    if (!context.link_rate || !(*context.link_rate > BytesPerSecond(0)))
      throw usage_error("import: --link-rate \"" + *text + "\" is no rate above 0",
                        "for example \"400 Gb/s\"");
  } else if (const auto fabric = options.value("--fabric")) {
    context.link_rate = load_fabric(*fabric, place_of("--fabric")).link_rate;
  }
  if (const auto file = options.value("--scenario")) {
    const Scenario scenario = cluster_of(load_scenario(*file, {}, {}));
    const ClusterSection& cluster = scenario.cluster;
    context.gpus_per_node = cluster.gpus_per_node;
    if (!context.node) context.node = cluster.node_spec.name;
    if (!context.ranks) context.ranks = scenario.gpus();
    if (!context.fabric && !cluster.fabric_spec.name.empty()) {
      context.fabric = cluster.fabric_spec.name;
      if (!context.link_rate) context.link_rate = cluster.fabric_spec.link_rate;
    }
  }
  return context;
}

void summarise(const MeasuredCollective& one) {
  std::cerr << one.operation << " on " << one.ranks << " ranks, " << one.nodes
            << (one.nodes == 1 ? " node, " : " nodes, ") << one.fabric << ": " << one.points.size()
            << (one.points.size() == 1 ? " size\n" : " sizes\n");
}

/// All faults of all files at once.
template <class Read>
void read_all(const std::vector<std::string>& files, Read read) {
  std::vector<Diagnostic> faults;
  for (const std::string& file : files) {
    try {
      read(file);
    } catch (const ScenarioError& error) {
      faults.insert(faults.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
    if (interrupt_requested()) throw Interrupted();
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults));
}

void show(const ParsedOptions& options, const std::vector<TraceSummary>& traces) {
  const auto json = options.value("--json");
  if (json && *json != "-") write_atomically(*json, to_json(traces));
  if (json == "-") {
    std::cout << to_json(traces);
    return;
  }
  for (std::size_t i = 0; i < traces.size(); ++i) std::cout << (i > 0 ? "\n" : "") << to_text(traces[i]);
}

/// The sections that the traces give; their summaries go to stdout.
std::string sections_of(const ParsedOptions& options, const std::vector<TraceSummary>& traces,
                        const LogContext& cluster) {
  show(options, traces);
  for (const TraceSummary& trace : traces)
    for (const std::string& note : trace.notes) std::cerr << "note: " << trace.file << ": " << note << "\n";
  TraceContext context;
  context.cluster = cluster;
  context.gpu = options.value("--gpu");
  context.software = options.value("--software");
  const TraceProfile profile = profile_of(traces, context);
  for (const std::string& note : profile.notes) std::cerr << "note: " << note << "\n";
  for (const std::string& line : profile.found) std::cerr << line << "\n";
  return profile.sections;
}

}  // namespace

ScenarioError json_is_of_traces() {
  return usage_error("import: --json is of traces as profiles; here there is none",
                     "--out FILE.toml takes what was imported");
}

ExitCode import_profile(const ParsedOptions& options) {
  const auto out = options.value("--out");
  for (const char* option : {"--out", "--json"}) {
    const auto file = options.value(option);
    if (file && *file != "-") require_writable(*file, option);
  }
  const LogContext context = context_of(options);
  std::vector<NcclTestsLog> logs;
  std::vector<TraceSummary> traces;
  read_all(options.positionals, [&](const std::string& file) {
    switch (input_kind(file)) {
      case InputKind::trace:
        traces.push_back(summarise(read_trace_file(file), file));
        break;
      case InputKind::kernel_table:
        traces.push_back(summarise_nsys(read_inflated(file), file));
        break;
      case InputKind::log:
        logs.push_back(read_nccl_tests_log(file));
        break;
    }
  });
  if (traces.empty() && options.has("--json")) throw json_is_of_traces();
  if (!traces.empty() && !logs.empty() && !out)
    throw usage_error("import: traces are shown, and a log becomes a profile: both at once need --out",
                      "--out FILE.toml takes the figures of both, or import them one by one");
  std::string sections;
  if (!traces.empty()) sections += sections_of(options, traces, context);
  if (!logs.empty()) {
    const LogCollectives found = collectives_of(logs, context);
    for (const std::string& note : found.notes) std::cerr << "note: " << note << "\n";
    for (const MeasuredCollective& one : found.collectives) {
      summarise(one);
      sections += "\n" + section_text(one);
    }
  }
  const std::string text = "schema = \"stepcast.profile/1\"\n" + sections;
  if (out && sections.empty())
    throw usage_error("import: nothing here is a figure of a profile; " + *out + " was not written");
  if (out) {
    write_atomically(*out, text);
  } else if (traces.empty()) {
    std::cout << text;
  }
  return ExitCode::done;
}

}  // namespace stepcast
