#include <charconv>
#include <iostream>

#include "base/quantity.hpp"
#include "calibrate/measure/plan_report.hpp"
#include "cli/backend_choice.hpp"
#include "cli/calibration.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "sim/cost/profile.hpp"
#include "topology/node.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--out", "PROFILE.toml", "the profile to write", false},
    {"--backend", "host|cuda", "what to measure; cuda where there is an NVIDIA GPU, else host", false},
    {"--quick", "", "fewer sizes, wider intervals: under a minute on hosts", false},
    {"--budget", "TIME", "how long to measure: 90s, 3m, 1h; 5m by default, with --quick 45s (GPUs 2m)",
     false},
    {"--dry-run", "", "print the plan, its time and memory, and touch nothing", false},
    {"--layout", "NODESxRANKS", "with --dry-run: plan for so many nodes and ranks on each", false},
    {"--scenario", "SCENARIO.toml", "first measure the products, attention and collectives of its points",
     false},
    {"--resume", "", "go on with a calibration that was not finished", false},
    {"--force", "", "measure though other processes use the device", false},
    {"--node", "NAME", "the node preset that the links are measured in; found out by default", false},
    {"--fabric", "NAME", "the network between nodes, as scenarios name it; found out by default", false},
    {"--link-rate", "RATE", "of the network, where it is not what its name says (\"1 Gb/s\")", false},
    {"--json", "FILE|-", "write the result as JSON; \"-\": to stdout, and nothing else there", false},
    {"--progress", "", "show progress on stderr even when it is no terminal", false},
    {"--help", "", "this text", false},
};

std::string help() {
  return "usage: stepcast calibrate --out PROFILE.toml [options]\n"
         "\n"
         "Measures this machine, or all machines that mpirun or srun started it on, one process a GPU (or a "
         "core of a host),\n"
         "and writes what stepcast run --profile predicts from.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "examples:\n"
         "  stepcast calibrate --dry-run\n"
         "  stepcast calibrate --quick --out here.toml\n"
         "  srun --ntasks-per-node=8 stepcast calibrate --budget 10m --out my-cluster.toml\n"
         "  stepcast calibrate --scenario mine.toml --out here.toml    # measure what I am going to ask "
         "about\n"
         "  mpirun -n 2 --host node1,node2 stepcast calibrate --fabric ethernet-1g --out two-hosts.toml\n"
         "\n"
         "What is finished is kept in PROFILE.toml.journal until the profile is written. docs/calibrate.md "
         "is "
         "a page for\n"
         "cluster users.\n";
}

Seconds budget_of(const ParsedOptions& options, const std::string& backend, bool quick) {
  const std::string text = options.value("--budget").value_or("");
  if (text.empty()) return quick ? Seconds(backend == "cuda" ? 120 : 45) : Seconds(300);
  const auto budget = parse_duration(text);
  if (!budget)
    throw usage_error("calibrate: --budget \"" + text + "\" is no time", "for example 90s, 3m or 1h");
  constexpr Seconds longest(30 * 24 * 3600.0);
  if (*budget > longest)
    throw usage_error("calibrate: --budget \"" + text + "\" is more than 30 days",
                      "for example 90s, 3m or 1h");
  return *budget;
}

CalibrationRequest request_of(const ParsedOptions& options) {
  if (!options.positionals.empty())
    throw usage_error("calibrate: it takes no \"" + options.positionals.front() + "\"",
                      "stepcast calibrate --out PROFILE.toml");
  CalibrationRequest request;
  request.backend = backend_choice(options, "calibrate");
  request.quick = options.has("--quick");
  request.resume = options.has("--resume");
  request.force = options.has("--force");
  request.progress = options.has("--progress");
  request.budget = budget_of(options, request.backend, request.quick);
  request.out = options.value("--out").value_or("");
  request.json = options.value("--json");
  request.node = options.value("--node").value_or("");
  request.scenario = options.value("--scenario");
  request.fabric = options.value("--fabric").value_or("");
  if (const auto rate = options.value("--link-rate")) {
    request.link_rate = parse_rate(*rate);
    if (!request.link_rate || request.link_rate->value <= 0)
      throw usage_error("calibrate: --link-rate \"" + *rate + "\" is no rate",
                        "units: " + std::string(rate_units));
  }
  return request;
}

/// So many equal nodes.
RankPlace layout_of(const std::string& text) {
  constexpr int most_ranks = 100'000;
  int nodes = 0, ranks = 0;
  const char* const end = text.data() + text.size();
  const auto [cross, nodes_fault] = std::from_chars(text.data(), end, nodes);
  const bool crossed = cross != end && *cross == 'x';
  const auto [rest, ranks_fault] = std::from_chars(crossed ? cross + 1 : end, end, ranks);
  const auto too_many = std::errc::result_out_of_range;
  const bool huge = nodes_fault == too_many || ranks_fault == too_many;
  if (!crossed || rest != end || (!huge && (nodes < 1 || ranks < 1)))
    throw usage_error("calibrate: --layout \"" + text + "\" is no layout",
                      "for example 2x8: 2 nodes, 8 ranks on each");
  if (huge || nodes > most_ranks / ranks)
    throw usage_error(
        "calibrate: --layout \"" + text + "\" has more than " + std::to_string(most_ranks) + " ranks",
        "two nodes tell most of what predictions of more need");
  RankPlace place;
  place.size = nodes * ranks;
  place.nodes = nodes;
  place.local_size = ranks;
  for (int rank = 0; rank < place.size; ++rank) {
    place.node_of_rank.push_back(rank / ranks);
    place.host_of_rank.push_back("node" + std::to_string(rank / ranks));
  }
  return place;
}

/// The device as the shipped profiles know it: a dry run opens none.
DeviceFacts shipped_facts(const CalibrationRequest& request) {
  SourcePlace place;
  place.file = "--node";
  const NodeSpec spec = load_node(request.node, place);
  const GpuProfile gpu = load_profile(spec.gpu, spec.name, "stepcast-trainer", {}, place).gpu;
  DeviceFacts facts;
  facts.profile_name = spec.gpu;
  facts.sms = gpu.sms;
  facts.compute_capability = gpu.compute_capability.value;
  facts.memory_capacity = gpu.memory_capacity.value;
  for (const auto& [type, peak] : gpu.peak) facts.dtypes.push_back(type);
  return facts;
}

ExitCode dry_run(const CalibrationRequest& request, const RankPlace& place) {
  require_writable_json(request);
  CalibrationRequest named = request;
  if (named.node.empty()) named.node = request.backend == "cuda" ? "hgx-h100" : "cpu-host";
  require_fitting_node(named, place.local_size);
  const DeviceFacts facts = shipped_facts(named);
  MeasuringOptions measuring;
  measuring.quick = request.quick;
  measuring.budget = request.budget;
  if (place.nodes > 1 && named.fabric.empty()) {
    named.fabric = request.backend == "cuda" ? "infiniband-400g" : "ethernet-1g";
    std::cerr << "note: planned for " << named.fabric << "; --fabric names another\n";
  }
  if (request.node.empty() && request.backend == "cuda")
    std::cerr << "note: planned for the GPUs of hgx-h100; --node names other nodes\n";
  measuring.between_nodes = choose_fabric(named, place.nodes, "").guess;
  measuring.wanted = wanted_measurements(request, facts, place);
  const PlanReport report =
      plan_report(request.backend, facts, place, measuring, measuring_plan(facts, place, measuring));
  if (request.json == "-") {
    std::cout << to_json(report);
    return ExitCode::done;
  }
  if (request.json) write_atomically(*request.json, to_json(report));
  std::cout << to_table(report);
  return ExitCode::done;
}

}  // namespace

ExitCode calibrate_command(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "calibrate");
  if (options.has("--help")) {
    std::cout << help();
    return ExitCode::done;
  }
  const CalibrationRequest request = request_of(options);
  const auto layout = options.value("--layout");
  if (layout && !options.has("--dry-run"))
    throw usage_error("calibrate: --layout is for --dry-run", "mpirun or srun say where to measure");
  if (options.has("--dry-run")) {
    if (layout) return dry_run(request, layout_of(*layout));
    const std::unique_ptr<Meeting> meeting = meet();
    return meeting->place().rank == 0 ? dry_run(request, meeting->place()) : ExitCode::done;
  }
  if (request.out.empty())
    throw usage_error("calibrate: where to?", "stepcast calibrate --out PROFILE.toml; --dry-run only plans");
  CalibrationEnd end;
  {
    const std::unique_ptr<Meeting> meeting = meet();
    end = calibrate(request, *meeting);
  }
  if (end.fault) std::rethrow_exception(end.fault);
  return end.code;
}

}  // namespace stepcast
