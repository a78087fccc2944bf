#pragma once

#include <vector>

namespace stepcast {

/// One measurement of a sum of parameters times known terms.
struct Observation {
  std::vector<double> terms;
  double value{};           ///< above zero
  double relative_error{};  ///< standard error of `value` over it; above zero
};

struct RobustFit {
  std::vector<double> parameters, low, high;  ///< low to high: 95 % confidence interval
  std::vector<double> residuals;              ///< fit / measured - 1, by observation
  double median_residual{};                   ///< of their magnitudes
};

/// Parameters p >= 0 that minimize the sum of rho((terms * p - value) / (value * relative_error)): weighted
/// by the measurements' own intervals, relative (a microsecond counts as much in ten as a second in 10^7),
/// and robust against outliers by iteratively reweighted least squares, first with Huber's rho (1.345), then,
/// where at least three observations are left over, Tukey's biweight (4.685), the scale from the median
/// absolute residual. Intervals: Huber's covariance of such estimates and Student's quantiles. A parameter
/// that would come out negative is 0. Source: Huber, Ronchetti, Robust Statistics, 2nd ed., chapter 7 (7.84).
/// @throws InternalError without observations, or with fewer than parameters
[[nodiscard]] RobustFit fit_linear(const std::vector<Observation>& observations);

[[nodiscard]] double median_of(std::vector<double> values);

}  // namespace stepcast
