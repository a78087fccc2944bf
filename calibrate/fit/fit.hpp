#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/measure/measurement.hpp"

namespace stepcast {

struct FitParameter {
  enum class Unit { time, size, rate, flops, factor };
  std::string name;
  Unit unit{};
  double value{}, low{}, high{};  ///< low to high: 95 % confidence interval

  /// Standard error over the value; what a figure of a profile states as its spread.
  [[nodiscard]] double relative_error() const;
};

/// One curve through measurements of one kind.
struct Fit {
  std::string of;     ///< "gemm fp32", "copy", "all_reduce, 2 ranks on 2 nodes, ethernet-1g"
  std::string curve;  ///< the equation
  std::vector<FitParameter> parameters;
  double residual{};    ///< median of |fit / measured - 1|
  int points{};         ///< measurements that went in
  std::string warning;  ///< where the curve does not describe them; else empty

  [[nodiscard]] const FitParameter* find(std::string_view name) const;
};

struct FitSummary {
  std::vector<Fit> fits;

  /// The parameter of a fit; nullptr when there is no such fit.
  [[nodiscard]] const FitParameter* find(std::string_view of, std::string_view name) const;
};

/// Fits what was measured:
///   gemm TYPE    t = work / rate + latency, the work as the tile model of sim/cost pads it
///   copy         t = latency + size / rate, of kernels in the device's memory; likewise copies to and from
///   the host collectives  t = latency + size / rate (+ ramp), by operation and group; size at half of the
///   peak launch       CPU time of one launch overlap      time of a product beside a collective over its
///   time alone; on hosts also what the CPU time of the
///                collective makes one expect
///   sustained    time of a product after seconds under load over its time alone; slowest device over the
///   median
/// Robust and weighted by the measurements' intervals (robust_fit.hpp).
[[nodiscard]] FitSummary fit_all(const MeasuredSet& set);

}  // namespace stepcast
