#include "sim/collective/fitted_curve.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/diagnostic.hpp"

namespace stepcast {

namespace {

double median_magnitude(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Weighted least squares of (latency + slope * size) / time = 1, neither part negative.
std::pair<double, double> solve(const std::vector<std::pair<Bytes, Seconds>>& points,
                                const std::vector<double>& weights) {
  double ll = 0, ls = 0, ss = 0, l = 0, s = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = 1 / points[i].second.value, y = points[i].first.value / points[i].second.value;
    ll += weights[i] * x * x;
    ls += weights[i] * x * y;
    ss += weights[i] * y * y;
    l += weights[i] * x;
    s += weights[i] * y;
  }
  const double determinant = ll * ss - ls * ls;
  if (determinant > 1e-12 * ll * ss) {
    const double latency = (l * ss - s * ls) / determinant, slope = (s * ll - l * ls) / determinant;
    if (latency >= 0 && slope >= 0) return {latency, slope};
    if (slope < 0) return {l / ll, 0};
  }
  return {0, s / ss};
}

}  // namespace

FittedCurve::FittedCurve(std::vector<std::pair<Bytes, Seconds>> points) : points_(std::move(points)) {
  STEPCAST_CHECK(!points_.empty(), "no measured points");
  std::vector<double> weights(points_.size(), 1.0), errors(points_.size());
  constexpr double huber_bound = 1.345;  // 95 % efficient where errors are normal
  constexpr int rounds = 50;
  for (int round = 0; round < rounds; ++round) {
    std::tie(latency_, slope_) = solve(points_, weights);
    for (std::size_t i = 0; i < points_.size(); ++i)
      errors[i] = line(points_[i].first) / points_[i].second - 1;
    const double scale = 1.4826 * median_magnitude(errors);
    if (scale < 1e-9) break;
    for (std::size_t i = 0; i < points_.size(); ++i)
      weights[i] = std::min(1.0, huber_bound * scale / std::max(1e-300, std::abs(errors[i])));
  }
}

Seconds FittedCurve::at(Bytes size) const {
  std::vector<std::pair<Bytes, double>> ratios;
  for (const auto& [known, time] : points_) {
    if (known == size) return time;
    ratios.emplace_back(known, time / line(known));
  }
  return interpolate_ratio(ratios, size) * line(size);
}

RingShape ring_shape(Operation operation, int ranks) {
  const double n = ranks;
  switch (operation) {
    case Operation::all_reduce:
      return {2 * (n - 1), 2 * (n - 1) / n};
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
      return {n - 1, (n - 1) / n};
    case Operation::broadcast:
    case Operation::reduce:
      return {n - 1, 1};
    case Operation::send_recv:
      return {1, 1};
  }
  return {1, 1};
}

ExtrapolatedTime extrapolate(const FittedCurve& measured, Bytes size, const Conditions& asked) {
  const RingShape before = ring_shape(asked.operation, asked.measured_ranks);
  const RingShape after = ring_shape(asked.operation, asked.ranks);
  const double steps = after.steps / before.steps, bytes = after.bytes / before.bytes;
  const double error = measured.at(size) / measured.line(size);
  const double wire_share =
      asked.measured_wire > 0 ? std::min(1.0, measured.slope() / asked.measured_wire) : 0;
  const double latency = error * steps * measured.latency().value;
  const double moving = error * bytes * measured.slope() * size.value;
  const double wire = wire_share * asked.wire * size.value;
  const double more_wire = wire - wire_share * bytes * asked.measured_wire * size.value;
  // A message that a shaped link let pass at once was measured faster than the wire.
  return {Seconds(latency), Seconds(latency + std::max(moving + more_wire, wire))};
}

Seconds extrapolate_cpu(const FittedCurve& measured, Bytes size, const Conditions& asked) {
  const RingShape before = ring_shape(asked.operation, asked.measured_ranks);
  const RingShape after = ring_shape(asked.operation, asked.ranks);
  const double error = measured.at(size) / measured.line(size);
  return error * (after.steps / before.steps * measured.latency() +
                  Seconds(after.bytes / before.bytes * measured.slope() * size.value));
}

}  // namespace stepcast
