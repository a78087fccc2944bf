#include "cli/verify_training.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <iostream>
#include <mutex>
#include <utility>

#include "calibrate/launch/meeting.hpp"
#include "calibrate/verify/trained.hpp"
#include "cli/backend_choice.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "cli/scenario_options.hpp"

namespace stepcast {
namespace {

constexpr const char* own_software = "stepcast-trainer";

/// The scenario, run by stepcast's own trainer whatever software it names.
ScenarioFile trained_scenario(const ParsedOptions& options, const std::string& name, bool speaks) {
  std::vector<Override> overrides = overrides_of(options, "verify");
  const ScenarioFile as_given = load_scenario(name, overrides, options.values("--profile"));
  const Value* training = as_given.document.find("training");
  const Value* software = training == nullptr ? nullptr : training->find("software");
  if (speaks && software != nullptr && software->string != own_software)
    std::cerr << "note: " << name << " names training.software = " << software->to_text()
              << "; verify trains with " << own_software << " and predicts that\n";
  overrides.push_back({"training.software", own_software});
  ScenarioFile file = load_scenario(name, overrides, options.values("--profile"));
  const bool asked = std::find(as_given.set_keys.begin(), as_given.set_keys.end(), "training.software") !=
                     as_given.set_keys.end();
  if (!asked) std::erase(file.set_keys, "training.software");
  return file;
}

int steps_of(const ParsedOptions& options) {
  const auto text = options.value("--steps");
  if (!text) return TrainedVerification{}.steps;
  int steps = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), steps);
  constexpr int fewest = 3;
  if (fault != std::errc() || end != text->data() + text->size() || steps < fewest)
    throw usage_error("verify: --steps \"" + *text + "\" is no whole number from 3",
                      "for example --steps 20");
  return steps;
}

Seconds seconds_of(const ParsedOptions& options) {
  const auto text = options.value("--seconds");
  if (!text) return TrainedVerification{}.at_most;
  const bool bare = text->find_first_not_of("0123456789.") == std::string::npos;
  const auto seconds = parse_duration(bare ? *text + "s" : *text);
  if (!seconds)
    throw usage_error("verify: --seconds \"" + *text + "\" is no time above 0",
                      "for example --seconds 30, or with a unit: --seconds 500ms, --seconds 3m");
  return *seconds;
}

std::string backend_for(const ParsedOptions& options, const std::vector<ScenarioPoint>& points) {
  if (options.has("--backend")) return backend_choice(options, "verify");
  for (const ScenarioPoint& point : points)
    if (point.scenario) return point.scenario->cluster.node_spec.host_device ? "host" : "cuda";
  return backend_choice(options, "verify");
}

/// A prediction of other hardware than what is measured proves nothing.
void require_same_hardware(const std::string& backend, const std::vector<ScenarioPoint>& points) {
  for (const ScenarioPoint& point : points) {
    if (!point.scenario) continue;
    const ClusterSection& cluster = point.scenario->cluster;
    if (cluster.node_spec.host_device == (backend == "host")) continue;
    throw ScenarioError(Diagnostic{
        cluster.node_place,
        backend == "host"
            ? "the host backend measures CPU cores, and the node \"" + cluster.node_spec.name + "\" has GPUs"
            : "the cuda backend measures GPUs, and the node \"" + cluster.node_spec.name + "\" has none",
        backend == "host" ? "set cluster.node = \"cpu-host\", or use --backend cuda" : "use --backend host"});
  }
}

void note_differences(const std::vector<ScenarioPoint>& points, const DeviceFacts& device,
                      const RankPlace& place) {
  for (const ScenarioPoint& point : points) {
    if (!point.scenario || point.scenario->gpus() != place.size) continue;
    const ClusterSection& cluster = point.scenario->cluster;
    if (cluster.nodes != place.nodes)
      std::cerr << "note: the ranks are on " << place.nodes << (place.nodes == 1 ? " node" : " nodes")
                << ", and the scenario has " << cluster.nodes << "\n";
    if (cluster.node_spec.gpu != device.profile_name)
      std::cerr << "note: this device is \"" << device.profile_name << "\", and the scenario's node has \""
                << cluster.node_spec.gpu << "\"\n";
    if (cluster.profiles.empty())
      std::cerr
          << "note: no --profile is given: predicted from the shipped figures; stepcast calibrate makes "
             "one of this machine\n";
    return;
  }
}

/// What was verified so far; the meeting's thread may show it when it ends the process.
class Results {
 public:
  Results(const ParsedOptions& options, Verification verification)
      : options_(options), verification_(std::move(verification)) {}
  void add(VerifiedPoint point) {
    const std::lock_guard lock(mutex_);
    verification_.points.push_back(std::move(point));
  }
  /// Once; @returns what the command ends with
  ExitCode show() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(shown_, true)) write_result(options_, verification_);
    const bool none = verification_.valid_points() == 0 && !verification_.points.empty();
    if (none) return ExitCode::wrong_input;
    return verification_.within_tolerance() ? ExitCode::done : ExitCode::check_failed;
  }

 private:
  const ParsedOptions& options_;
  std::mutex mutex_;
  Verification verification_;
  bool shown_{};
};

/// Of one rank of the meeting.
ExitCode verify_here(const ParsedOptions& options, const std::string& name, Meeting& meeting) {
  const RankPlace& place = meeting.place();
  const bool speaks = place.rank == 0;
  TrainedVerification training;
  training.steps = steps_of(options);
  training.at_most = seconds_of(options);
  training.cancel = &interrupt_requested();
  const ScenarioFile file = trained_scenario(options, name, speaks);
  const std::vector<ScenarioPoint> points = expand(file);
  const std::string backend_name = backend_for(options, points);
  require_same_hardware(backend_name, points);
  const std::unique_ptr<Backend> backend = open_backend(backend_name, meeting);
  const DeviceFacts& device = backend->device().facts();
  if (speaks) note_differences(points, device, place);

  Verification verification;
  verification.backend = backend_name;
  verification.hardware = hardware_of(device, place);
  verification.tolerance = tolerance_of(options);
  Results results(options, std::move(verification));
  Progress progress(options.has("--progress"), "steps");
  training.done = [&](VerifiedPoint point) { results.add(std::move(point)); };
  training.progress = [&](std::size_t point, int step, int steps) {
    const auto whole = static_cast<std::size_t>(steps);
    progress.report(point * whole + static_cast<std::size_t>(step), points.size() * whole);
  };
  meeting.on_abort([&] {
    if (speaks) (void)results.show();
  });
  try {
    verify_by_training(points, *backend, meeting, training);
  } catch (const ScenarioError&) {
    meeting.on_abort({});
    throw;  // of every rank alike
  } catch (const Interrupted&) {
    (void)results.show();
    throw;
  } catch (const std::exception& fault) {
    meeting.abandon(fault.what());  // shows what is done
    if (place.size == 1) (void)results.show();
    meeting.on_abort({});
    throw;
  }
  meeting.on_abort({});
  return speaks ? results.show() : ExitCode::done;
}

}  // namespace

double tolerance_of(const ParsedOptions& options) {
  const auto text = options.value("--tolerance");
  if (!text) return Verification{}.tolerance;
  double value = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), value);
  std::string unit(end, text->data() + text->size());
  std::erase(unit, ' ');
  const bool percent = unit == "%";
  if (fault != std::errc() || !(value > 0) || !std::isfinite(value) || !(percent || unit.empty()) ||
      (!percent && value > 1))
    throw usage_error("verify: --tolerance \"" + *text + "\" is no share", "for example 15% or 0.15");
  return percent ? value / 100 : value;
}

void write_result(const ParsedOptions& options, const Verification& verification) {
  const auto file = options.value("--json");
  if (file == "-") {
    std::cout << to_json(verification) << std::flush;
    return;
  }
  if (file) write_atomically(*file, to_json(verification));
  std::cout << to_table(verification) << std::flush;
}

ExitCode verify_by_training(const ParsedOptions& options, const std::string& name) {
  std::exception_ptr fault;
  ExitCode code = ExitCode::done;
  {
    const std::unique_ptr<Meeting> meeting = meet();
    try {
      code = verify_here(options, name, *meeting);
    } catch (const ScenarioError&) {
      if (meeting->place().rank == 0) fault = std::current_exception();
      code = ExitCode::wrong_input;
    } catch (...) {
      fault = std::current_exception();
    }
  }
  if (fault) std::rethrow_exception(fault);
  return code;
}

}  // namespace stepcast
