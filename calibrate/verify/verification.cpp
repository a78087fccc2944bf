#include "calibrate/verify/verification.hpp"

#include <algorithm>
#include <cmath>

#include "base/print.hpp"
#include "sim/report/text_table.hpp"

namespace stepcast {
namespace {

std::vector<double> abs_errors(const Verification& verification) {
  std::vector<double> errors;
  for (const VerifiedPoint& point : verification.points)
    if (point.invalid.empty()) errors.push_back(std::abs(point.relative_error()));
  std::sort(errors.begin(), errors.end());
  return errors;
}

/// "+3.2 %".
std::string signed_share(double share) { return (share < 0 ? "-" : "+") + print_share(std::abs(share)); }

/// "10.2 ms / 9.87 ms".
std::string both(const std::optional<Seconds>& predicted, const std::optional<Seconds>& measured) {
  const auto text = [](const std::optional<Seconds>& time) { return time ? print_time(*time) : "?"; };
  return text(predicted) + " / " + text(measured);
}

/// The part whose times lie furthest apart.
std::string differs_most(const VerifiedPoint& point) {
  struct Part {
    const char* name;
    std::optional<Seconds> StepFigures::*figure;
  };
  constexpr Part parts[] = {{"compute", &StepFigures::compute},
                            {"exposed communication", &StepFigures::exposed_communication},
                            {"optimizer", &StepFigures::optimizer}};
  std::string most;
  Seconds greatest;
  for (const Part& part : parts) {
    const auto& predicted = point.predicted.*part.figure;
    const auto& measured = point.measured.*part.figure;
    if (!predicted || !measured) continue;
    const Seconds difference = *predicted - *measured;
    if (std::abs(difference.value) <= std::abs(greatest.value)) continue;
    greatest = difference;
    most = part.name;
  }
  if (most.empty()) return "";
  return most + " " + (greatest < Seconds() ? "-" : "+") + print_time(Seconds(std::abs(greatest.value)));
}

}  // namespace

StepFigures figures_of(const PointReport& predicted) {
  StepFigures figures;
  figures.step_time = predicted.step_time;
  figures.step_time_p05 = predicted.step_time_p05;
  figures.step_time_p50 = predicted.step_time_p50;
  figures.step_time_p95 = predicted.step_time_p95;
  const Breakdown& parts = predicted.breakdown;
  figures.compute = parts.compute + parts.pipeline_bubble + parts.input + parts.host;
  figures.exposed_communication = parts.exposed_communication;
  figures.optimizer = parts.optimizer;
  figures.memory_peak = predicted.memory.allocated_peak();
  return figures;
}

std::size_t Verification::valid_points() const { return abs_errors(*this).size(); }

std::optional<double> Verification::median_abs_error() const {
  const std::vector<double> errors = abs_errors(*this);
  if (errors.empty()) return std::nullopt;
  return 0.5 * (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]);
}

std::optional<double> Verification::max_abs_error() const {
  const std::vector<double> errors = abs_errors(*this);
  if (errors.empty()) return std::nullopt;
  return errors.back();
}

bool Verification::within_tolerance() const {
  const auto greatest = max_abs_error();
  return greatest && *greatest <= tolerance;
}

std::string to_table(const Verification& verification) {
  using Align = TextTable::Align;
  TextTable table;
  table.add_column("", Align::left);
  std::vector<std::string> keys;
  for (const VerifiedPoint& point : verification.points)
    for (const auto& [key, value] : point.settings)
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  for (const std::string& key : keys) table.add_column(header_for(key), Align::left);
  for (const char* header : {"predicted\nstep", "measured\nstep", "error", "measured\n5 % to 95 %",
                             "compute\npredicted / measured", "exposed comm.\npredicted / measured",
                             "optimizer\npredicted / measured", "memory\npredicted / measured"})
    table.add_column(header, Align::right);
  table.add_column("differs most", Align::left);

  std::string impossible;
  for (const VerifiedPoint& point : verification.points) {
    std::string settings;
    std::vector<std::string> cells{""};
    for (const std::string& key : keys) {
      const auto place = std::find_if(point.settings.begin(), point.settings.end(),
                                      [&](const auto& setting) { return setting.first == key; });
      cells.push_back(place == point.settings.end() ? "" : place->second.to_text());
      settings += (settings.empty() ? "" : ", ") + key + "=" + cells.back();
    }
    if (!point.invalid.empty()) {
      impossible += "- not run" + (settings.empty() ? "" : ": " + settings) + ": " + point.invalid + "\n";
      continue;
    }
    const bool beyond = std::abs(point.relative_error()) > verification.tolerance;
    cells.front() = beyond ? "!" : " ";
    const StepFigures &predicted = point.predicted, &measured = point.measured;
    cells.push_back(print_time(predicted.step_time));
    cells.push_back(print_time(measured.step_time));
    cells.push_back(signed_share(point.relative_error()));
    cells.push_back(print_time(measured.step_time_p05) + " to " + print_time(measured.step_time_p95));
    cells.push_back(both(predicted.compute, measured.compute));
    cells.push_back(both(predicted.exposed_communication, measured.exposed_communication));
    cells.push_back(both(predicted.optimizer, measured.optimizer));
    const auto size = [](const std::optional<Bytes>& memory) { return memory ? print_size(*memory) : "?"; };
    cells.push_back(size(predicted.memory_peak) + " / " + size(measured.memory_peak));
    cells.push_back(differs_most(point));
    table.add_row(std::move(cells));
  }

  const std::size_t valid = verification.valid_points();
  std::string text = "Measured: " + verification.hardware + "\n\n";
  if (valid > 0) {
    text += table.text() + "\n- " + std::to_string(valid) + (valid == 1 ? " point" : " points") +
            ": median error of the step time " + print_share(*verification.median_abs_error()) +
            ", greatest " + print_share(*verification.max_abs_error()) + "; ";
    text += verification.within_tolerance()
                ? "all within the tolerance of " + print_share(verification.tolerance) + ".\n"
                : "beyond the tolerance of " + print_share(verification.tolerance) + " where marked \"!\".\n";
  }
  return text + impossible;
}

}  // namespace stepcast
