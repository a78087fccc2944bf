#include "calibrate/fit/curve_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/print.hpp"
#include "calibrate/fit/robust_fit.hpp"

namespace stepcast {

namespace {

CurveFit from(const RobustFit& fit, double exponent) {
  const auto rate_of = [](double slope) {
    return BytesPerSecond(slope > 0 ? 1 / slope : std::numeric_limits<double>::infinity());
  };
  CurveFit curve;
  curve.latency = Seconds(fit.parameters[0]);
  curve.latency_low = Seconds(fit.low[0]);
  curve.latency_high = Seconds(fit.high[0]);
  curve.rate = rate_of(fit.parameters[1]);
  curve.rate_low = rate_of(fit.high[1]);
  curve.rate_high = rate_of(fit.low[1]);
  if (fit.parameters.size() > 2) {
    curve.ramp = fit.parameters[2];
    curve.exponent = exponent;
  }
  curve.residuals = fit.residuals;
  curve.median_residual = fit.median_residual;
  return curve;
}

/// The size at which size / t is half of the rate, by bisection in the logarithm.
Bytes half_peak(const CurveFit& curve) {
  if (!std::isfinite(curve.rate.value)) return {};
  if (curve.ramp <= 0) return curve.rate * curve.latency;
  double low = 0, high = std::log(1e18);
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    const Bytes size(std::exp(middle));
    (curve.at(size) > 2 * (size / curve.rate) ? low : high) = middle;
  }
  return Bytes(std::exp(low));
}

}  // namespace

Seconds CurveFit::at(Bytes size) const {
  return latency + size / rate + Seconds(ramp > 0 ? ramp * std::pow(size.value, exponent) : 0);
}

CurveFit fit_curve(const std::vector<TimedSize>& points) {
  const auto fit_with = [&](double exponent) {
    std::vector<Observation> observations;
    for (const TimedSize& point : points) {
      Observation one{{1, point.size.value}, point.time.value, point.relative_error};
      if (exponent > 0) one.terms.push_back(std::pow(point.size.value, exponent));
      observations.push_back(std::move(one));
    }
    return fit_linear(observations);
  };
  CurveFit best = from(fit_with(0), 0);
  // A third term must earn its place: enough points, and half of the error gone.
  constexpr std::size_t enough = 6;
  const double plain = best.median_residual;
  if (points.size() >= enough) {
    for (const double exponent : {0.25, 0.5, 0.75}) {
      const RobustFit fit = fit_with(exponent);
      if (fit.parameters[2] > 0 && fit.median_residual < 0.5 * plain &&
          fit.median_residual < best.median_residual)
        best = from(fit, exponent);
    }
  }
  best.half_peak = half_peak(best);
  return best;
}

double relative_error(const Measured& one) {
  constexpr double least = 0.005, quantile = 1.96;
  const double half_width = 0.5 * (one.high - one.low).value / quantile;
  return std::max(least, one.median > Seconds(0) ? half_width / one.median.value : 0);
}

std::string misfit(const std::vector<double>& residuals, const std::vector<double>& errors, double bound) {
  std::vector<double> magnitudes;
  for (const double one : residuals) magnitudes.push_back(std::abs(one));
  const double median = median_of(magnitudes);
  if (median > bound) {
    return "the curve misses half of the measurements by more than " + print_share(median);
  }
  constexpr int long_run = 4;
  int run = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const bool beside = std::abs(residuals[i]) > std::max(bound, 2 * errors[i]);
    const bool same_side = i > 0 && (residuals[i] > 0) == (residuals[i - 1] > 0);
    run = !beside ? 0 : same_side ? run + 1 : 1;
    if (run >= long_run) {
      return std::string("the curve lies ") + (residuals[i] > 0 ? "above" : "below") + " " +
             std::to_string(run) + " neighbouring measurements: they have another shape";
    }
  }
  return "";
}

}  // namespace stepcast
