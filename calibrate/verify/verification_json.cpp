#include "base/json.hpp"
#include "calibrate/verify/verification.hpp"

namespace stepcast {
namespace {

std::optional<double> number(const std::optional<Seconds>& time) {
  return time ? std::optional<double>(time->value) : std::nullopt;
}

void write_figures(JsonWriter& json, const StepFigures& figures) {
  json.begin_object();
  json.member("step_time_s", figures.step_time.value);
  json.member("step_time_p05_s", figures.step_time_p05.value);
  json.member("step_time_p50_s", figures.step_time_p50.value);
  json.member("step_time_p95_s", figures.step_time_p95.value);
  json.member("compute_s", number(figures.compute));
  json.member("exposed_communication_s", number(figures.exposed_communication));
  json.member("optimizer_s", number(figures.optimizer));
  json.key("memory_peak_bytes");
  if (figures.memory_peak) {
    json.value(figures.memory_peak->value);
  } else {
    json.null();
  }
  if (figures.steps > 0) json.member("steps", figures.steps);
  json.end_object();
}

}  // namespace

std::string to_json(const Verification& verification) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "stepcast.verification/1");
  json.member("backend", verification.backend);
  json.member("hardware", verification.hardware);
  json.key("points");
  json.begin_array();
  for (const VerifiedPoint& point : verification.points) {
    json.begin_object();
    json.key("settings");
    json.begin_object();
    for (const auto& [key, value] : point.settings) json.member(key, value);
    json.end_object();
    if (!point.invalid.empty()) {
      json.member("invalid", point.invalid);
    } else {
      json.key("predicted");
      write_figures(json, point.predicted);
      json.key("measured");
      write_figures(json, point.measured);
      json.member("relative_error", point.relative_error());
    }
    json.end_object();
  }
  json.end_array();
  json.key("summary");
  json.begin_object();
  json.member("points", static_cast<std::int64_t>(verification.valid_points()));
  json.member("median_abs_error", verification.median_abs_error());
  json.member("max_abs_error", verification.max_abs_error());
  json.member("within_tolerance", verification.within_tolerance());
  json.member("tolerance", verification.tolerance);
  json.end_object();
  json.end_object();
  return json.text();
}

}  // namespace stepcast
