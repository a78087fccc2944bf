#include "cli/calibration.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <set>

#include "base/print.hpp"
#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/profile_writer.hpp"
#include "calibrate/measure/journal.hpp"
#include "calibrate/measure/link_names.hpp"
#include "calibrate/measure/result_report.hpp"
#include "calibrate/measure/runner.hpp"
#include "calibrate/measure/scenario_needs.hpp"
#include "cli/backend_choice.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "topology/fabric.hpp"

namespace stepcast {
namespace {

Seconds steady_time() {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now().time_since_epoch();
  return Seconds(since.count());
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

std::vector<std::string> hosts_of(const RankPlace& place) {
  std::vector<std::string> hosts;
  for (const std::string& host : place.host_of_rank) {
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  return hosts;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Rank 0 makes a decision that may fail; all ranks learn whether it did.
/// @return how the command ends, or nothing: go on
std::optional<CalibrationEnd> decide(Meeting& meeting, const std::function<void()>& on_rank_0) {
  CalibrationEnd end;
  if (meeting.place().rank == 0) {
    try {
      on_rank_0();
    } catch (const ScenarioError&) {
      end = {ExitCode::wrong_input, std::current_exception()};
    } catch (const MachineError&) {
      end = {ExitCode::machine_lacks, std::current_exception()};
    }
  }
  const int code = std::stoi(meeting.broadcast(std::to_string(static_cast<int>(end.code))));
  if (code == 0) return std::nullopt;
  end.code = static_cast<ExitCode>(code);
  return end;
}

/// What all ranks found, where they agree.
std::string agreed_fabric(const CalibrationRequest& request, Meeting& meeting) {
  std::string found;
  if (meeting.place().nodes > 1 && request.fabric.empty()) {
    if (request.backend == "cuda") found = fabric_of_rdma_cards();
    if (found.empty()) found = fabric_of_interface(meeting.interface_address());
  }
  const std::vector<std::string> all = meeting.gather(found);
  const bool same = std::all_of(all.begin(), all.end(), [&](const auto& one) { return one == all.front(); });
  return meeting.broadcast(same ? found : "");
}

/// The journal of this run, new or gone on with, and what it holds already.
struct KeptResults {
  std::unique_ptr<Journal> journal;
  std::vector<Measured> results;
};

void require_no_journal(const CalibrationRequest& request) {
  std::error_code ignored;
  if (request.resume || !std::filesystem::exists(request.journal(), ignored)) return;
  throw MachineError(request.journal() + " holds the measurements of a calibration that was not finished",
                     "go on with it: --resume; or delete it, and everything is measured again");
}

KeptResults open_journal(const CalibrationRequest& request, const MeasuredSet& set) {
  const JournalHeader header = header_of(set, request.quick);
  std::error_code ignored;
  KeptResults kept;
  if (!request.resume || !std::filesystem::exists(request.journal(), ignored)) {
    if (request.resume) std::cerr << "note: there is no " << request.journal() << ": a new calibration\n";
    if (std::filesystem::is_regular_file(request.out, ignored))
      std::cerr << "note: " << request.out << " is there already; it is replaced at the end\n";
    kept.journal = std::make_unique<Journal>(request.journal(), header);
    return kept;
  }
  JournalContent content = read_journal(request.journal());
  if (const std::string why = difference(content.header, header); !why.empty())
    throw MachineError(request.journal() + " was measured on other hardware: " + why,
                       "go on where it began, or delete it, and everything is measured again");
  if (content.torn) std::cerr << "note: the last line of " << request.journal() << " is torn and left out\n";
  std::cerr << "note: " << content.results.size() << " measurements are in " << request.journal() << "\n";
  kept.journal = std::make_unique<Journal>(request.journal(), content);
  kept.results = std::move(content.results);
  return kept;
}

std::vector<PlannedMeasurement> without(std::vector<PlannedMeasurement> plan,
                                        const std::vector<Measured>& done) {
  std::erase_if(plan, [&](const PlannedMeasurement& planned) {
    return std::any_of(done.begin(), done.end(),
                       [&](const Measured& measured) { return measured.what == planned.what; });
  });
  return plan;
}

/// Says so where the budget or the memory is too small for what was asked for.
void note_unplanned(const std::vector<Measurement>& wanted, const std::vector<PlannedMeasurement>& plan) {
  const auto left_out = std::count_if(wanted.begin(), wanted.end(), [&](const Measurement& what) {
    return std::none_of(plan.begin(), plan.end(), [&](const auto& planned) { return planned.what == what; });
  });
  if (left_out > 0)
    std::cerr
        << "note: " << left_out << " of the " << wanted.size()
        << " measurements that the scenario needs take too much time or memory and are left out; a larger "
           "--budget allows longer ones\n";
}

/// "12/90 all_reduce 1.00 MiB, all; about 34.0 s left".
std::string progress_line(const CalibrationProgress& progress) {
  return std::to_string(progress.done) + "/" + std::to_string(progress.total) + " " + describe(progress.now) +
         "; about " + print_time(progress.left) + " left";
}

void write_profile(const CalibrationRequest& request, const MeasuredSet& set) {
  try {
    write_atomically(request.out, profile_toml(set));
  } catch (const ScenarioError& error) {
    throw MachineError(error.what(), "all " + std::to_string(set.results.size()) +
                                         " measurements are kept in " + request.journal() +
                                         ": make room, then go on with --resume");
  }
  std::error_code ignored;
  std::filesystem::remove(request.journal(), ignored);
}

void show_results(const CalibrationRequest& request, const MeasuredSet& set, int left_out, Seconds duration) {
  ResultReport report = result_report(set, left_out);
  for (const Fit& fit : fit_all(set).fits) {
    if (!fit.warning.empty()) report.warnings.push_back(fit.of + ": " + fit.warning);
  }
  const ResultContext context{request.backend, request.out, duration};
  if (request.json == "-") {
    std::cout << to_json(report, set, context);
    return;
  }
  if (request.json) write_atomically(*request.json, to_json(report, set, context));
  std::cout << to_table(report, set, context);
}

}  // namespace

FabricChoice choose_fabric(const CalibrationRequest& request, int nodes, const std::string& found) {
  SourcePlace place;
  place.file = "--fabric";
  if (nodes < 2) {
    if (!request.fabric.empty()) (void)load_fabric(request.fabric, place);  // a misspelt name is one anywhere
    return {};
  }
  const std::string name = request.fabric.empty() ? found : request.fabric;
  if (name.empty())
    throw usage_error(
        "calibrate: the network between the " + std::to_string(nodes) + " nodes does not say what it is",
        "name it, as scenarios do: --fabric ethernet-10g (and --link-rate \"1 Gb/s\" where it is "
        "limited)");
  const FabricSpec spec = load_fabric(name, place);
  const BytesPerSecond rate = request.link_rate.value_or(spec.link_rate);
  return {spec.name, rate, {spec.efficiency * rate, spec.link_latency}};
}

std::string choose_node(const CalibrationRequest& request, const DeviceFacts& device, int ranks_per_node) {
  if (!request.node.empty()) {
    SourcePlace place;
    place.file = "--node";
    return load_node(request.node, place).name;
  }
  if (device.compute_capability <= 0) return "cpu-host";
  std::string name = node_preset_of(device.profile_name, ranks_per_node);
  if (name.empty())
    throw usage_error("calibrate: which kind of node is this? Several or none of the node presets have " +
                          std::to_string(ranks_per_node) + " x " + device.profile_name,
                      "name one, as scenarios do: --node hgx-h100, or a node file of yours");
  return name;
}

void require_fitting_node(const CalibrationRequest& request, int ranks_per_node) {
  if (request.node.empty()) return;
  SourcePlace place;
  place.file = "--node";
  const NodeSpec node = load_node(request.node, place);
  const bool host = request.backend == "host";
  if (node.host_device != host)
    throw usage_error("calibrate: the " + request.backend + " backend measures " +
                          (host ? "CPU cores" : "GPUs") + ", and the node \"" + node.name + "\" has " +
                          (host ? "GPUs" : "none"),
                      host ? "--node cpu-host, or --backend cuda" : "--backend host, or a node with GPUs");
  if (!host && ranks_per_node > node.gpus)
    throw usage_error("calibrate: there are " + std::to_string(ranks_per_node) +
                          " ranks on a node, and the node \"" + node.name + "\" has " +
                          std::to_string(node.gpus) + (node.gpus == 1 ? " GPU" : " GPUs"),
                      "one rank a GPU; --node names another kind of node");
}

void require_writable_json(const CalibrationRequest& request) {
  if (request.json && request.json != "-") require_writable(*request.json, "--json");
}

std::vector<Measurement> wanted_measurements(const CalibrationRequest& request, const DeviceFacts& device,
                                             const RankPlace& place) {
  if (!request.scenario) return {};
  return scenario_needs(load_scenario(*request.scenario, {}), device, place);
}

CalibrationEnd calibrate(const CalibrationRequest& request, Meeting& meeting) {
  const RankPlace& place = meeting.place();
  const bool leads = place.rank == 0;
  const Seconds start = steady_time();
  if (const auto end = decide(meeting, [&] {
        require_writable(request.out, "--out");
        require_writable_json(request);
        require_fitting_node(request, place.local_size);
        require_no_journal(request);
      }))
    return *end;

  meeting.doing("opening the device", Seconds(120));
  const std::unique_ptr<Backend> backend = open_backend(request.backend, meeting);
  const DeviceFacts& device = backend->device().facts();
  const std::string neighbours = neighbours_of_all(*backend, meeting);
  const std::string found = agreed_fabric(request, meeting);
  meeting.doing("", {});

  MeasuredSet set;
  MeasuringOptions measuring;
  measuring.quick = request.quick;
  measuring.budget = request.budget;
  KeptResults kept;
  std::vector<PlannedMeasurement> plan, too_long;
  if (const auto end = decide(meeting, [&] {
        if (!neighbours.empty() && !request.force)
          throw MachineError("somebody else is at work here, and both would suffer:\n" + neighbours,
                             "wait for them to end, or measure beside them with --force");
        const FabricChoice fabric = choose_fabric(request, place.nodes, found);
        set.device = device;
        set.node = choose_node(request, device, place.local_size);
        set.fabric = fabric.name;
        set.link_rate = fabric.link_rate;
        set.nodes = place.nodes;
        set.ranks = place.size;
        set.ranks_per_node = place.local_size;
        set.hosts = hosts_of(place);
        set.measured_on = today() + ", " + joined(set.hosts);
        measuring.between_nodes = fabric.guess;
        measuring.wanted = wanted_measurements(request, device, place);
        kept = open_journal(request, set);
        plan = measuring_plan(device, place, measuring);
        note_unplanned(measuring.wanted, plan);
        plan = without(std::move(plan), kept.results);
        too_long = without(too_long_for_budget(device, place, measuring), kept.results);
      }))
    return *end;

  const auto finished = std::make_shared<std::atomic<int>>(static_cast<int>(kept.results.size()));
  const int planned = static_cast<int>(plan.size() + kept.results.size());
  meeting.on_abort([finished, planned, journal = request.journal()] {
    std::cerr << "stepcast: " << *finished << " of " << planned << " measurements are kept in " << journal
              << "; go on with --resume\n";
  });
  if (leads)
    std::cerr << "calibrate: backend " << request.backend << " (" << device.model << "), " << place.size
              << (place.size == 1 ? " rank" : " ranks")
              << (set.fabric.empty() ? "" : ", " + set.fabric + " between nodes") << "\n";

  CalibrationRun run;
  {
    Progress progress(request.progress, "measurements");
    RunnerOptions options;
    options.measuring = measuring;
    options.clock = steady_time;
    options.stop = [] { return interrupt_requested().load(); };
    options.progress = [&](const CalibrationProgress& now) { progress.show(progress_line(now)); };
    options.keep = [&](const Measured& measured) {
      kept.journal->append(measured);
      ++*finished;
    };
    run = run_plan(plan, *backend, meeting, options);
  }
  if (run.stopped) {
    if (leads)
      std::cerr << "stepcast: interrupted; " << *finished << " of " << planned << " measurements are kept in "
                << request.journal() << "; go on with --resume\n";
    return {ExitCode::interrupted, nullptr};
  }
  if (const auto end = decide(meeting, [&] {
        set.results = std::move(kept.results);
        set.results.insert(set.results.end(), run.results.begin(), run.results.end());
        write_profile(request, set);
        meeting.on_abort([] {});  // nothing is left in the journal
        show_results(request, set, static_cast<int>(run.left_out.size() + too_long.size()),
                     steady_time() - start);
      }))
    return *end;
  return {};
}

}  // namespace stepcast
