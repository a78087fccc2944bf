#include <charconv>
#include <iostream>
#include <set>

#include "calibrate/import/nccl_tests_log.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/scenario_options.hpp"
#include "sim/report/collective_comparison.hpp"
#include "sim/report/collective_model.hpp"
#include "sim/report/collective_table.hpp"
#include "sim/report/nccl_tests.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--op", "NAME", "all_reduce all_gather reduce_scatter broadcast reduce alltoall sendrecv, or all",
     false},
    {"--min", "SIZE", "smallest size: 8, 64K, 1M, 8G (powers of 1024); 8 by default", false},
    {"--max", "SIZE", "largest size; 8G by default", false},
    {"--factor", "N", "each size is N times the one before; 2 by default", false},
    {"--step", "SIZE", "each size is SIZE more than the one before", false},
    {"--stepwise", "", "simulate every chunk of every step as a flow (ring, tree and direct calls)", false},
    {"--compare", "LOG", "lay an nccl-tests log beside the prediction", false},
    {"--in-place", "", "compare with the log's in-place half", false},
    {"--fit", "", "correct the model at five of the log's sizes and judge it on the others", false},
    {"--profile-out", "FILE.toml", "write those five sizes as a profile for run --profile", false},
    {"--set", "key=value", "set a scenario key; may be repeated", false},
    {"--profile", "FILE", "a calibrated profile, after the scenario's own; may be repeated", false},
    {"--json", "FILE|-", "write the result as JSON; \"-\": to stdout, and nothing else there", false},
    {"--help", "", "this text", false},
};

std::string help() {
  return "usage: stepcast collectives SCENARIO.toml --op all_reduce [options]\n"
         "\n"
         "Predicts the table that nccl-tests would print on all GPUs of the scenario's cluster, one process "
         "a "
         "GPU, with what\n"
         "NCCL chooses and an interval for each time. Only [cluster] and [nccl] of the scenario are needed.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "examples:\n"
         "  stepcast collectives scenarios/8-to-32.toml --op all_reduce --set cluster.nodes=4 --set "
         "cluster.fabric=roce-200g\n"
         "  stepcast collectives mine.toml --op all --min 1M --max 1G --json -\n"
         "  stepcast collectives mine.toml --compare all_reduce.log --fit --profile-out mine-network.toml\n"
         "\n"
         "docs/cli.md says what the columns and the JSON fields mean.\n";
}

Bytes size_option(const ParsedOptions& options, const char* name, Bytes otherwise) {
  const auto text = options.value(name);
  if (!text) return otherwise;
  const auto size = parse_nccl_tests_size(*text);
  if (!size) {
    throw usage_error("collectives: " + std::string(name) + " \"" + *text + "\" is no size above 0",
                      "a whole number of bytes, or with K, M, G, T (powers of 1024): 8, 64K, 1M, 8G");
  }
  return *size;
}

SizeSweep sweep_of(const ParsedOptions& options) {
  SizeSweep sweep;
  sweep.first = size_option(options, "--min", sweep.first);
  sweep.last = size_option(options, "--max", sweep.last);
  if (sweep.last < sweep.first)
    throw usage_error("collectives: --max is below --min", "for example --min 1M --max 1G");
  if (options.has("--step")) {
    if (options.has("--factor"))
      throw usage_error("collectives: --factor and --step contradict each other", "give one of them");
    sweep.step = size_option(options, "--step", {});
    if ((sweep.last - sweep.first).value / sweep.step->value >= static_cast<double>(most_sizes))
      throw usage_error("collectives: --step makes more than " + std::to_string(most_sizes) + " sizes",
                        "give a larger step, or --factor");
  }
  if (const auto text = options.value("--factor")) {
    const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), sweep.factor);
    if (fault != std::errc() || end != text->data() + text->size() || !(sweep.factor >= 1.01) ||
        !(sweep.factor < 1e18))
      throw usage_error("collectives: --factor \"" + *text + "\" is no number of 1.01 or more",
                        "for example --factor 2");
  }
  return sweep;
}

[[noreturn]] void unknown_operation(const std::string& name) {
  std::vector<std::string> known = {"all"};
  for (const Operation operation : nccl_tests_operations()) known.emplace_back(nccl_tests_name(operation));
  throw usage_error("collectives: unknown operation \"" + name + "\"", suggest(name, known));
}

/// The operations that --op asks for; none when it is not given.
std::vector<Operation> operations_of(const ParsedOptions& options) {
  const auto name = options.value("--op");
  if (!name) return {};
  if (*name == "all") return {nccl_tests_operations().begin(), nccl_tests_operations().end()};
  const auto operation = operation_named(*name);
  if (!operation) unknown_operation(*name);
  return {*operation};
}

void write_result(const ParsedOptions& options, const std::string& json, const std::string& text) {
  const auto file = options.value("--json");
  if (file == "-") {
    std::cout << json;
    return;
  }
  if (file) write_atomically(*file, json);
  std::cout << text;
}

// ---- --compare --------------------------------------------------------------------------------------------

/// The operation to compare: asked for, or the log's only one.
Operation compared_operation(const NcclTestsLog& log, const std::vector<Operation>& asked) {
  if (asked.size() > 1)
    throw usage_error("collectives: --compare takes one operation, not --op all",
                      "for example --op all_reduce");
  std::set<Operation> found;
  bool unknown = false;
  for (const NcclTestsRun& run : log.runs) {
    if (run.operation) found.insert(*run.operation);
    unknown = unknown || !run.operation;
  }
  std::string names;
  for (const Operation operation : found)
    names += (names.empty() ? "" : ", ") + std::string(nccl_tests_name(operation));
  if (!asked.empty()) {
    if (!unknown && !found.contains(asked.front())) {
      throw usage_error(
          "collectives: " + log.file + " holds no " + std::string(nccl_tests_name(asked.front())),
          "it holds " + names);
    }
    return asked.front();
  }
  if (found.size() == 1) return *found.begin();
  throw usage_error("collectives: which operation of " + log.file + "?",
                    found.empty()
                        ? "the log does not say what was run: give --op, for example --op all_reduce"
                        : "it holds " + names + ": choose one with --op");
}

/// A log of other machines says nothing about this cluster.
void require_same_ranks(const NcclTestsLog& log, Operation operation, const Scenario& scenario) {
  const int ranks = scenario.gpus();
  const NcclTestsRun* other = nullptr;
  for (const NcclTestsRun& run : log.runs) {
    if (run.operation && *run.operation != operation) continue;
    if (run.ranks == ranks) return;
    if (run.ranks == 0) {
      std::cerr << "note: " << log.file << " does not say on how many ranks it was run; taken as " << ranks
                << "\n";
      return;
    }
    other = &run;
  }
  std::string hint =
      "set cluster.nodes and cluster.gpus_per_node so that they make " + std::to_string(other->ranks);
  if (const int hosts = other->hosts(); hosts > 0 && other->ranks % hosts == 0) {
    hint = "its hosts are " + std::to_string(hosts) + ": --set cluster.nodes=" + std::to_string(hosts) +
           " --set cluster.gpus_per_node=" + std::to_string(other->ranks / hosts);
  }
  throw usage_error("collectives: " + log.file + " was run on " + std::to_string(other->ranks) +
                        " ranks, and the scenario has " + std::to_string(ranks),
                    hint);
}

MeasuredTimes times_of(const NcclTestsLog& log, Operation operation, int ranks, bool in_place) {
  MeasuredTimes times;
  for (const NcclTestsRow& row : rows_by_size(log, operation, ranks)) {
    const auto& half = in_place ? row.in_place : row.out_of_place;
    if (half) times.emplace_back(row.size, half->time);
  }
  if (times.empty()) {
    throw usage_error(
        "collectives: " + log.file + " has no " + (in_place ? "in-place" : "out-of-place") + " times",
        in_place ? "leave --in-place out" : "try --in-place");
  }
  return times;
}

/// Says where the log may not be what the scenario asks about.
void note_differences(const NcclTestsLog& log, const Scenario& scenario) {
  const std::string& version = log.runs.front().nccl_version;
  const auto known = nccl_version_of(version);
  if (!version.empty() && known != scenario.nccl.version) {
    std::cerr << "note: " << log.file << " was run with NCCL " << version << ", and the scenario's counts as "
              << name_of(scenario.nccl.version);
    if (known) std::cerr << ": --set 'nccl.version=\"" << name_of(*known) << "\"'";
    std::cerr << "\n";
  }
  for (const NcclTestsRun& run : log.runs) {
    if (run.hosts() > 0 && run.hosts() != scenario.cluster.nodes && run.ranks == scenario.gpus()) {
      std::cerr << "note: " << log.file << " was run on " << run.hosts() << " hosts, and the scenario has "
                << scenario.cluster.nodes << " nodes\n";
      return;
    }
    if (run.threads * run.gpus_per_thread > 1) {
      std::cerr << "note: " << log.file << " drives " << run.threads * run.gpus_per_thread
                << " GPUs from one process, which adds some microseconds for each to every call; training "
                   "does not\n";
      return;
    }
  }
}

void compare(const ParsedOptions& options, const Scenario& scenario, const std::vector<Operation>& asked) {
  const NcclTestsLog log = read_nccl_tests_log(*options.value("--compare"));
  const Operation operation = compared_operation(log, asked);
  require_same_ranks(log, operation, scenario);
  note_differences(log, scenario);
  const bool in_place = options.has("--in-place");
  CollectiveComparison comparison = compare_collective(
      scenario, operation, times_of(log, operation, scenario.gpus(), in_place), options.has("--fit"));
  comparison.log = log.file;
  comparison.in_place = in_place;
  write_result(options, to_json(comparison), to_text(comparison));
  if (const auto file = options.value("--profile-out")) {
    MeasuredCollective fit = *comparison.fit;
    fit.source = "nccl-tests log " + log.file + (in_place ? ", in place" : ", out of place");
    const NcclTestsRun& run = log.runs.front();
    if (!run.places.empty()) fit.measured_on = run.places.front().gpu + ", " + run.places.front().host;
    fit.nccl_version = run.nccl_version;
    write_atomically(*file, profile_text({fit}));
    std::cerr << "note: " << *file << " holds the " << fit.points.size()
              << " sizes: stepcast run ... --profile " << *file << "\n";
  }
}

// ---- the table --------------------------------------------------------------------------------------------

/// TCP moves more when NCCL is told to open more sockets; a scenario that does not say which gets both.
bool both_socket_settings(const ScenarioFile& file, const Scenario& scenario) {
  const Value* nccl = file.document.find("nccl");
  const bool given = nccl != nullptr && nccl->find("sockets") != nullptr;
  return !given && scenario.cluster.nodes > 1 && !scenario.cluster.node_spec.host_device &&
         scenario.cluster.fabric_spec.transport == Transport::ethernet;
}

std::string title_of(const Scenario& scenario, const CollectiveTable& table) {
  const ClusterSection& cluster = scenario.cluster;
  std::string text = "# " + std::string(nccl_tests_name(table.operation)) + ": " +
                     std::to_string(cluster.nodes) + " x " + std::to_string(cluster.gpus_per_node) +
                     (cluster.node_spec.host_device ? " ranks of " : " GPUs of ") + cluster.node_spec.name;
  if (cluster.nodes > 1) {
    text += ", " + cluster.fabric_spec.name + ", " +
            std::to_string(cluster.fabric_spec.nics_per_node > 0 ? cluster.fabric_spec.nics_per_node
                                                                 : cluster.node_spec.nics_default) +
            " cards a node";
  }
  // Plain machines communicate by Gloo's rings.
  text += cluster.node_spec.host_device ? std::string(", Gloo")
                                        : ", NCCL " + std::string(name_of(scenario.nccl.version));
  return text + "\n# predicted: one process a " + (cluster.node_spec.host_device ? "core" : "GPU") +
         "; 5 % and 95 % bound the interval for time; m: by measured points "
         "of a "
         "profile\n";
}

void print_tables(const ParsedOptions& options, const ScenarioFile& file, const Scenario& scenario,
                  const std::vector<Operation>& operations) {
  const Profile profile = collective_profile(scenario);
  const auto model = collective_model(scenario, profile);
  std::unique_ptr<CollectiveModel> tuned;
  if (both_socket_settings(file, scenario)) {
    Scenario changed = scenario;
    changed.nccl.tuned_sockets = true;
    tuned = collective_model(changed, profile);
  }
  const SizeSweep sweep = sweep_of(options);
  Progress progress(false, "sizes");
  CollectiveRowOptions row_options;
  row_options.cancel = &interrupt_requested();
  row_options.progress = [&](std::size_t done, std::size_t total) { progress.report(done, total); };
  if (options.has("--stepwise")) row_options.fidelity = Fidelity::stepwise;
  std::vector<CollectiveTable> tables;
  std::string text;
  for (const Operation operation : operations) {
    CollectiveTable table{operation, scenario.gpus(), {}, {}};
    const std::vector<Bytes> sizes = sweep_sizes(sweep, operation, table.ranks);
    if (sizes.empty()) {
      throw usage_error("collectives: no size from --min to --max gives each of " +
                            std::to_string(table.ranks) + " ranks an element",
                        "raise --max");
    }
    try {
      table.rows = collective_rows(*model, operation, sizes, row_options);
      if (tuned) table.tuned_sockets = collective_rows(*tuned, operation, sizes, row_options);
    } catch (const std::invalid_argument& why) {
      if (row_options.fidelity == Fidelity::fluid)
        throw ScenarioError(Diagnostic{scenario.cluster.node_place, why.what(), ""});
      throw usage_error("collectives: " + std::string(why.what()),
                        "without --stepwise every call can be predicted; rings can "
                        "be had step by step with --set nccl.algorithm=Ring");
    }
    text += (text.empty() ? "" : "\n") + title_of(scenario, table);
    if (row_options.fidelity == Fidelity::stepwise) text += "# step by step: every chunk a flow\n";
    text += to_text(table);
    tables.push_back(std::move(table));
    if (interrupt_requested()) break;  // what is done is shown
  }
  write_result(options, to_json(tables), text);
  if (interrupt_requested()) throw Interrupted();
}

std::string scenario_name(const ParsedOptions& options) {
  if (options.positionals.empty())
    throw usage_error("collectives: which scenario?", "stepcast collectives SCENARIO.toml --op all_reduce");
  if (options.positionals.size() > 1)
    throw usage_error("collectives: one scenario at a time, not \"" + options.positionals[1] + "\" too");
  return options.positionals.front();
}

void check_combination(const ParsedOptions& options, const std::vector<Operation>& operations) {
  const bool comparing = options.has("--compare");
  for (const char* option : {"--fit", "--in-place"}) {
    if (options.has(option) && !comparing)
      throw usage_error("collectives: " + std::string(option) + " needs --compare LOG");
  }
  if (options.has("--profile-out") && !options.has("--fit"))
    throw usage_error("collectives: --profile-out needs --compare LOG --fit");
  for (const char* option : {"--min", "--max", "--factor", "--step", "--stepwise"}) {
    if (options.has(option) && comparing)
      throw usage_error("collectives: " + std::string(option) +
                        " has no use with --compare, which predicts the log's sizes as fluid calls");
  }
  if (operations.empty() && !comparing)
    throw usage_error("collectives: which operation?",
                      "--op all_reduce all_gather reduce_scatter broadcast reduce alltoall sendrecv, or all");
}

}  // namespace

ExitCode collectives_command(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "collectives");
  if (options.has("--help")) {
    std::cout << help();
    return ExitCode::done;
  }
  const std::string name = scenario_name(options);
  const std::vector<Operation> operations = operations_of(options);
  check_combination(options, operations);
  for (const char* option : {"--json", "--profile-out"}) {
    const auto file = options.value(option);
    if (file && *file != "-") require_writable(*file, option);
  }
  const ScenarioFile file =
      load_scenario(name, overrides_of(options, "collectives"), options.values("--profile"));
  const Scenario scenario = cluster_of(file);
  for (const std::string& note : scenario.notes) std::cerr << "note: " << note << "\n";
  if (scenario.gpus() < 2)
    throw usage_error("collectives: the scenario has one GPU, which communicates with nobody",
                      "set cluster.nodes or cluster.gpus_per_node");
  if (options.has("--compare")) {
    compare(options, scenario, operations);
  } else {
    print_tables(options, file, scenario, operations);
  }
  return ExitCode::done;
}

}  // namespace stepcast
