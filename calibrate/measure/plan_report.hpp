#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/plan.hpp"

namespace stepcast {

/// What a calibration would do, before anything is touched.
struct PlanReport {
  std::string backend, device;
  std::string estimates_from;  ///< the shipped profile that times come from
  int nodes{1}, ranks{1};
  Seconds budget;
  int too_long{};      ///< measurements that are not in the plan, as each takes too much of the budget
  int without_time{};  ///< of the plan, for which the budget is expected to have no time left
  std::vector<PlannedMeasurement> plan;

  /// Of all measurements together.
  [[nodiscard]] Seconds expected() const;

  Bytes memory_per_rank;
  [[nodiscard]] bool on_gpus() const { return backend == "cuda"; }
};

[[nodiscard]] PlanReport plan_report(std::string backend, const DeviceFacts& device, const RankPlace& place,
                                     const MeasuringOptions& options, std::vector<PlannedMeasurement> plan);

/// For people: by kind, how many and how long; then time, memory and GPU-minutes.
[[nodiscard]] std::string to_table(const PlanReport& report);
/// Schema "stepcast.calibration-plan/1", with every measurement.
[[nodiscard]] std::string to_json(const PlanReport& report);

}  // namespace stepcast
