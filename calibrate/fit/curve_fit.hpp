#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"
#include "calibrate/measure/measurement.hpp"

namespace stepcast {

/// Time by size, with the standard error of each time over it.
struct TimedSize {
  Bytes size;
  Seconds time;
  double relative_error{};
};

/// t = latency + size / rate + ramp * size^exponent; ramp 0 where the data do not want one: rates then rise
/// to half of the peak at size = latency * rate, and with a ramp more slowly than that.
struct CurveFit {
  Seconds latency, latency_low, latency_high;
  BytesPerSecond rate, rate_low, rate_high;  ///< infinite where time does not grow with size
  double ramp{}, exponent{};
  Bytes half_peak;                ///< size at which half of `rate` is reached
  std::vector<double> residuals;  ///< fit / measured - 1, by size
  double median_residual{};

  [[nodiscard]] Seconds at(Bytes size) const;
};

/// @param points  sorted by size, at least two sizes
[[nodiscard]] CurveFit fit_curve(const std::vector<TimedSize>& points);

/// Standard error of a measurement's median over it, from its interval; at least half a percent, as clocks,
/// caches and the moment leave no model nearer than that.
[[nodiscard]] double relative_error(const Measured& one);

/// Says what is wrong where a curve does not describe its measurements: a median residual above `bound`, or
/// four neighbours in size on one side, each by more than the bound and twice its own error. Empty where it
/// does.
/// @param residuals, errors  sorted by size
[[nodiscard]] std::string misfit(const std::vector<double>& residuals, const std::vector<double>& errors,
                                 double bound = 0.05);

}  // namespace stepcast
