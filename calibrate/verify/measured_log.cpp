#include "calibrate/verify/measured_log.hpp"

#include "calibrate/verify/steady_step.hpp"
#include "calibrate/verify/training_log.hpp"
#include "models/build_model.hpp"

namespace stepcast {
namespace {

std::string described(const TrainingLog& log, const SteadyStep& steady) {
  std::string text = log.file + ": " + log.software;
  if (const auto devices = log.facts.devices()) text += ", " + std::to_string(*devices) + " GPUs";
  text += ", " + std::to_string(steady.steps) + (steady.steps == 1 ? " time" : " times");
  return text + " by " + (log.steps.empty() ? "timers of micro-steps" : log.time_from);
}

}  // namespace

LoggedPoint verify_against_log(const Scenario& scenario, const std::string& log_file, Predictor& predictor) {
  const Model model = build_model(scenario.model.request, scenario.model.place);
  BatchHint hint;
  hint.samples_per_step = static_cast<double>(scenario.global_batch_size());
  hint.tokens_per_sample = static_cast<double>(model.sequence_length);
  hint.samples_per_device = hint.samples_per_step / scenario.gpus();
  const TrainingLog log = read_training_log(log_file, hint);

  LoggedPoint result;
  result.notes = log.notes;
  const SteadyStep steady = steady_step(log, scenario, result.notes);
  result.contradictions = contradictions(log, scenario, model.sequence_length);
  result.hardware = described(log, steady);
  result.point.predicted = figures_of(predictor.predict(scenario));
  StepFigures& measured = result.point.measured;
  measured.step_time = measured.step_time_p50 = steady.p50;
  measured.step_time_p05 = steady.p05;
  measured.step_time_p95 = steady.p95;
  measured.steps = steady.steps;
  measured.memory_peak = log.memory;
  return result;
}

}  // namespace stepcast
