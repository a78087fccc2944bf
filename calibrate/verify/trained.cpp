#include "calibrate/verify/trained.hpp"

#include <algorithm>
#include <sstream>

#include "calibrate/verify/steady_step.hpp"
#include "models/build_model.hpp"

namespace stepcast {
namespace {

/// One rank's run as text for rank 0, and back.
std::string text_of(const TrainedRun& run) {
  std::ostringstream text;
  text.precision(17);
  text << run.memory_peak.value;
  for (const TrainedStep& step : run.steps)
    text << ' ' << step.time.value << ' ' << step.exposed.value << ' ' << step.optimizer.value;
  return text.str();
}

TrainedRun run_of(const std::string& text) {
  std::istringstream stream(text);
  TrainedRun run;
  stream >> run.memory_peak.value;
  for (TrainedStep step; stream >> step.time.value >> step.exposed.value >> step.optimizer.value;)
    run.steps.push_back(step);
  return run;
}

/// Of each step the mean over ranks.
std::vector<Seconds> rank_means(const std::vector<TrainedRun>& by_rank, Seconds TrainedStep::*figure) {
  std::vector<Seconds> means(by_rank.front().steps.size());
  for (std::size_t i = 0; i < means.size(); ++i) {
    for (const TrainedRun& run : by_rank) means[i] += run.steps.at(i).*figure;
    means[i] = means[i] / static_cast<double>(by_rank.size());
  }
  return means;
}

}  // namespace

StepFigures measured_figures(const std::vector<TrainedRun>& by_rank) {
  STEPCAST_CHECK(!by_rank.empty() && !by_rank.front().steps.empty(), "a run without steps");
  const std::vector<Seconds> times = rank_means(by_rank, &TrainedStep::time);
  StepFigures figures;
  figures.step_time = figures.step_time_p50 = quantile(times, 0.5);
  figures.step_time_p05 = quantile(times, 0.05);
  figures.step_time_p95 = quantile(times, 0.95);
  figures.exposed_communication = quantile(rank_means(by_rank, &TrainedStep::exposed), 0.5);
  figures.optimizer = quantile(rank_means(by_rank, &TrainedStep::optimizer), 0.5);
  figures.compute = figures.step_time - *figures.exposed_communication - *figures.optimizer;
  figures.steps = static_cast<int>(times.size());
  Bytes memory;
  for (const TrainedRun& run : by_rank) memory = std::max(memory, run.memory_peak);
  figures.memory_peak = memory;
  return figures;
}

std::string cannot_run(const Scenario& scenario, const RankPlace& place) {
  const int needed = scenario.gpus();
  if (needed == place.size) return "";
  std::string text = "needs " + std::to_string(needed) + (needed == 1 ? " rank" : " ranks") + ", and " +
                     std::to_string(place.size) + (place.size == 1 ? " was started" : " were started");
  return text + ": mpirun -n " + std::to_string(needed) + ", or srun -n " + std::to_string(needed);
}

void verify_by_training(const std::vector<ScenarioPoint>& points, Backend& backend, Meeting& meeting,
                        const TrainedVerification& options) {
  const bool speaks = meeting.place().rank == 0;
  Predictor predictor(options.cancel);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ScenarioPoint& point = points[i];
    if (options.cancel && *options.cancel) throw Interrupted();
    VerifiedPoint result;
    result.settings = point.settings;
    result.invalid = point.invalid;
    Model model;
    if (point.scenario) {
      const Scenario& scenario = *point.scenario;
      result.invalid = cannot_run(scenario, meeting.place());
      if (result.invalid.empty()) {
        model = build_model(scenario.model.request, scenario.model.place);
        result.invalid = cannot_train(model, scenario.training, backend.device());
      }
    }
    if (!result.invalid.empty()) {
      if (speaks) options.done(std::move(result));
      continue;
    }
    const Scenario& scenario = *point.scenario;
    // By every rank, so that a fault of the input is found by all and no rank waits for another.
    result.predicted = figures_of(predictor.predict(scenario));
    TrainOptions training;
    training.steps = options.steps;
    training.warm_up = options.warm_up;
    training.at_most = options.at_most;
    training.progress = [&](int done, int total) {
      // Alone, nobody waits for this rank; ranks that have met are ended by their meeting.
      if (meeting.place().size == 1 && options.cancel && *options.cancel) throw Interrupted();
      if (speaks && options.progress) options.progress(i, done, total);
    };
    const TrainedRun own = train(model, scenario.training, backend, meeting, training);
    std::vector<TrainedRun> by_rank;
    for (const std::string& text : meeting.gather(text_of(own))) by_rank.push_back(run_of(text));
    if (!speaks) continue;
    result.measured = measured_figures(by_rank);
    if (!own.exposed_known) result.measured.exposed_communication = result.measured.compute = std::nullopt;
    options.done(std::move(result));
  }
}

std::string hardware_of(const DeviceFacts& device, const RankPlace& place) {
  std::vector<std::string> hosts;
  for (const std::string& host : place.host_of_rank)
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  std::string text = std::to_string(place.size) + (place.size == 1 ? " rank on " : " ranks on ");
  for (std::size_t i = 0; i < hosts.size(); ++i) text += (i > 0 ? ", " : "") + hosts[i];
  text += ": " + device.model;
  for (const auto& [name, version] : device.versions) text += ", " + name + " " + version;
  return text;
}

}  // namespace stepcast
