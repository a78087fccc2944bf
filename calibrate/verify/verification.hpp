#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.hpp"
#include "base/units.hpp"
#include "sim/report/report.hpp"

namespace stepcast {

/// One optimizer step, predicted or measured; nothing where it isn't known.
struct StepFigures {
  Seconds step_time, step_time_p05, step_time_p50, step_time_p95;
  /// They add up to step_time. compute: all that is neither of the others (host time and waiting for input,
  /// too).
  std::optional<Seconds> compute, exposed_communication, optimizer;
  std::optional<Bytes> memory_peak;  ///< of the allocator, on the device that needs most
  int steps{};                       ///< measured: times that count; predicted: 0
};

[[nodiscard]] StepFigures figures_of(const PointReport& predicted);

struct VerifiedPoint {
  std::vector<std::pair<std::string, Value>> settings;
  std::string invalid;  ///< not empty: it can't be run or predicted; nothing below holds
  StepFigures predicted, measured;

  [[nodiscard]] double relative_error() const { return predicted.step_time / measured.step_time - 1; }
};

/// A scenario's points, predicted and measured.
struct Verification {
  std::string backend;   ///< "host", "cuda"; "log" when a training log is the measured side
  std::string hardware;  ///< what was measured, in words
  std::vector<VerifiedPoint> points;
  double tolerance{0.15};  ///< greatest relative error, of either sign

  [[nodiscard]] std::size_t valid_points() const;
  [[nodiscard]] std::optional<double> median_abs_error() const;
  [[nodiscard]] std::optional<double> max_abs_error() const;
  [[nodiscard]] bool within_tolerance() const;  ///< of all valid points, and there is one
};

/// The table, where predicted and measured differ most, and the summary.
[[nodiscard]] std::string to_table(const Verification& verification);
/// Schema "stepcast.verification/1" (docs/verify.md).
[[nodiscard]] std::string to_json(const Verification& verification);

}  // namespace stepcast
