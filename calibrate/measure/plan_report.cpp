#include "calibrate/measure/plan_report.hpp"

#include <algorithm>
#include <cstdio>

#include "base/json.hpp"
#include "base/print.hpp"
#include "calibrate/measure/budget.hpp"
#include "calibrate/measure/operands.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

struct KindTotal {
  std::string name;
  int count{};
  Seconds expected;
};

/// What people call the groups of measurements: by kind, collectives and kernels by operation.
std::string group_of(const Measurement& what) {
  if (what.kind == Measurement::Kind::collective)
    return std::string(name_of(what.collective)) + " (" + what.group + ")";
  if (what.kind == Measurement::Kind::kernel) return "memory-bound kernels";
  if (what.kind == Measurement::Kind::gemm) return "gemm " + std::string(name_of(what.dtype));
  if (what.kind == Measurement::Kind::host_copy) return "copies between host and device";
  return std::string(name_of(what.kind));
}

std::vector<KindTotal> totals_of(const std::vector<PlannedMeasurement>& plan) {
  std::vector<KindTotal> totals;
  for (const PlannedMeasurement& planned : plan) {
    const std::string name = group_of(planned.what);
    auto total = std::find_if(totals.begin(), totals.end(), [&](const auto& t) { return t.name == name; });
    if (total == totals.end()) total = totals.insert(totals.end(), {name, 0, {}});
    ++total->count;
    total->expected += planned.expected;
  }
  return totals;
}

std::string row(const std::string& name, int count, Seconds time) {
  char line[96];
  std::snprintf(line, sizeof line, "  %-34s %5d   %s\n", name.c_str(), count, print_time(time).c_str());
  return line;
}

double device_minutes(const PlanReport& report) {
  return std::min(report.expected(), report.budget).value * report.ranks / 60;
}

std::string left_out(const PlanReport& report) {
  if (report.too_long + report.without_time == 0) return "";
  return "warning: this budget leaves out about " + std::to_string(report.too_long + report.without_time) +
         " measurements: " + std::to_string(report.too_long) +
         " take too much of it to be planned, and for " + std::to_string(report.without_time) +
         " of the plan no time is left; a larger --budget makes them\n";
}

}  // namespace

PlanReport plan_report(std::string backend, const DeviceFacts& device, const RankPlace& place,
                       const MeasuringOptions& options, std::vector<PlannedMeasurement> plan) {
  PlanReport report;
  report.backend = std::move(backend);
  report.device = device.model.empty() ? device.profile_name : device.model;
  report.estimates_from = Estimates(device, options.between_nodes).device_name();
  report.nodes = place.nodes;
  report.ranks = place.size;
  report.budget = options.budget;
  report.plan = std::move(plan);
  report.too_long = static_cast<int>(too_long_for_budget(device, place, options).size());
  report.without_time = without_time(options.budget, report.plan);
  OperandSizes largest;
  for (const PlannedMeasurement& planned : report.plan) largest.raise_to(operand_sizes(planned.what));
  report.memory_per_rank = workbench_memory(largest, device);
  return report;
}

Seconds PlanReport::expected() const {
  Seconds sum;
  for (const PlannedMeasurement& planned : plan) sum += planned.expected;
  return sum;
}

std::string to_table(const PlanReport& report) {
  std::string text = "plan: " + std::to_string(report.plan.size()) + " measurements, backend " +
                     report.backend + ", " + std::to_string(report.ranks) +
                     (report.ranks == 1 ? " rank on " : " ranks on ") + std::to_string(report.nodes) +
                     (report.nodes == 1 ? " node" : " nodes") + "\n\n";
  for (const KindTotal& total : totals_of(report.plan)) text += row(total.name, total.count, total.expected);
  text += "\nexpected time: " + print_time(report.expected()) + " (from the shipped figures of " +
          report.estimates_from + "); at most about " + print_time(report.budget) +
          ": what a budget has left goes into more repeats where they are needed\n";
  text += left_out(report);
  text += "memory: " + print_size(report.memory_per_rank) + " on each rank\n";
  char minutes[64];
  std::snprintf(minutes, sizeof minutes, "%s: %.2g\n", report.on_gpus() ? "GPU-minutes" : "core-minutes",
                device_minutes(report));
  return text + minutes + "nothing was measured (--dry-run)\n";
}

std::string to_json(const PlanReport& report) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "stepcast.calibration-plan/1");
  json.member("backend", report.backend);
  json.member("device", report.device);
  json.member("estimates_from", report.estimates_from);
  json.member("nodes", report.nodes);
  json.member("ranks", report.ranks);
  json.member("expected_s", report.expected().value);
  json.member("budget_s", report.budget.value);
  json.member("too_long", report.too_long);
  json.member("without_time", report.without_time);
  json.member("memory_per_rank_bytes", report.memory_per_rank.value);
  json.member("device_minutes", device_minutes(report));
  json.key("kinds");
  json.begin_array();
  for (const KindTotal& total : totals_of(report.plan)) {
    json.begin_object();
    json.member("name", total.name);
    json.member("measurements", total.count);
    json.member("expected_s", total.expected.value);
    json.end_object();
  }
  json.end_array();
  json.key("measurements");
  json.begin_array();
  for (const PlannedMeasurement& planned : report.plan) {
    json.begin_object();
    json.member("kind", name_of(planned.what.kind));
    json.member("what", describe(planned.what));
    json.member("stage", planned.stage);
    json.member("one_call_s", planned.one_call.value);
    json.member("expected_s", planned.expected.value);
    json.member("memory_bytes", planned.memory.value);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace stepcast
