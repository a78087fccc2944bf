#include "calibrate/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/print.hpp"
#include "calibrate/fit/collective_groups.hpp"
#include "calibrate/fit/curve_fit.hpp"
#include "calibrate/fit/robust_fit.hpp"
#include "calibrate/fit/toml_text.hpp"
#include "sim/cost/gemm.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

namespace {

using Kind = Measurement::Kind;
using Unit = FitParameter::Unit;

std::vector<const Measured*> of_kind(const MeasuredSet& set, Kind kind) {
  std::vector<const Measured*> found;
  for (const Measured& one : set.results)
    if (one.what.kind == kind && one.median > Seconds(0)) found.push_back(&one);
  return found;
}

/// The shipped profile of the device, whose tiles the products are fitted with; square tiles for one that
/// nobody has described.
GpuProfile base_profile(const DeviceFacts& device) {
  const auto known = gpu_profile_names();
  if (std::find(known.begin(), known.end(), device.profile_name) != known.end()) {
    return load_profile(device.profile_name, device.profile_name, "stepcast-trainer", {}, {}).gpu;
  }
  GpuProfile generic;
  generic.sms = std::max(1, device.sms);
  generic.tiles = {{128, 128, 1.0}};
  return generic;
}

std::vector<TimedSize> timed_sizes(const std::vector<const Measured*>& results, Bytes Measurement::*size) {
  std::map<double, std::pair<std::vector<double>, std::vector<double>>> by_size;
  for (const Measured* const one : results) {
    if (!(one->what.*size > Bytes(0))) continue;
    auto& [times, errors] = by_size[(one->what.*size).value];
    times.push_back(one->median.value);
    errors.push_back(relative_error(*one));
  }
  std::vector<TimedSize> points;
  for (const auto& [bytes, at] : by_size)
    points.push_back({Bytes(bytes), Seconds(median_of(at.first)), median_of(at.second)});
  return points;
}

std::optional<Fit> curve_of(std::string of, const std::vector<TimedSize>& points) {
  if (points.size() < 2) return {};
  const CurveFit curve = fit_curve(points);
  std::vector<double> errors;
  for (const TimedSize& point : points) errors.push_back(point.relative_error);
  Fit fit{std::move(of),         "t = latency + size / rate",     {},
          curve.median_residual, static_cast<int>(points.size()), misfit(curve.residuals, errors)};
  fit.parameters.push_back(
      {"latency", Unit::time, curve.latency.value, curve.latency_low.value, curve.latency_high.value});
  if (std::isfinite(curve.rate.value)) {
    fit.parameters.push_back(
        {"rate", Unit::rate, curve.rate.value, curve.rate_low.value, curve.rate_high.value});
    const double half = curve.half_peak.value;
    // Of the two parameters that it is made of, the latency is by far the less certain one.
    const double low = curve.latency.value > 0 ? half * curve.latency_low / curve.latency : half;
    const double high = curve.latency.value > 0 ? half * curve.latency_high / curve.latency : half;
    fit.parameters.push_back({"half_peak_size", Unit::size, half, low, high});
  }
  if (curve.ramp > 0) fit.curve += " + ramp size^" + toml::number(curve.exponent);
  return fit;
}

/// Copies in the device's memory. Those that caches hold tell no rate of the memory.
std::optional<Fit> memory_curve(const std::vector<const Measured*>& copies) {
  std::optional<Fit> fit = curve_of("copy", timed_sizes(copies, &Measurement::moved));
  const bool large = std::any_of(copies.begin(), copies.end(),
                                 [](const Measured* copy) { return tells_memory_rate(copy->what); });
  if (!fit || large) return fit;
  std::erase_if(fit->parameters, [](const FitParameter& one) { return one.name != "latency"; });
  fit->warning = "the memory's rate is not known: no copy of " + print_size(least_memory_copy) +
                 " or more was measured, and caches hold smaller ones";
  return fit;
}

Bytes product_bytes(const Measurement& what) {
  const auto rows = static_cast<double>(what.rows), columns = static_cast<double>(what.columns),
             depth = static_cast<double>(what.depth);
  return Bytes(element_size(what.dtype) * (rows * depth + depth * columns + rows * columns));
}

/// Rate of the best shape and latency of a product. How a product is tiled depends a little on the rate, so
/// the fit is repeated with the rate that it found.
std::optional<Fit> fit_gemm(const GpuProfile& gpu, Dtype type, const std::vector<const Measured*>& results) {
  constexpr std::size_t enough = 3;
  if (results.size() < enough) return {};
  const GemmUnits units = type == Dtype::fp32 ? GemmUnits::simt : GemmUnits::tensor;
  double rate = 0;
  for (const Measured* const one : results) {
    const double flops = 2.0 * static_cast<double>(one->what.rows) * static_cast<double>(one->what.columns) *
                         static_cast<double>(one->what.depth);
    rate = std::max(rate, flops / one->median.value);
  }
  RobustFit fitted;
  std::vector<std::pair<double, double>> residuals;  // by time
  for (int round = 0; round < 10; ++round) {
    std::vector<Observation> observations;
    std::vector<std::pair<double, double>> errors;
    for (const bool all : {false, true}) {
      if (observations.size() >= enough) break;
      observations.clear();
      errors.clear();
      for (const Measured* const one : results) {
        const Measurement& what = one->what;
        const GemmTiling tiling = best_tiling(gpu, units, FlopPerSecond(rate),
                                              {static_cast<double>(what.rows), what.columns, what.depth});
        const Seconds computing = tiling.compute_time();
        const bool memory_bound =
            gpu.memory_rate.value.value > 0 && product_bytes(what) / gpu.memory_rate.value > computing;
        if (memory_bound && !all) continue;
        const double left = (one->median - tiling.reduce).value;
        if (!(left > 0)) continue;
        observations.push_back({{rate * (tiling.waves * tiling.wave).value, 1}, left, relative_error(*one)});
        errors.emplace_back(one->median.value, relative_error(*one));
      }
    }
    if (observations.size() < enough) return {};
    fitted = fit_linear(observations);
    residuals = std::move(errors);
    if (!(fitted.parameters[0] > 0)) return {};
    const double found = 1 / fitted.parameters[0];
    const bool settled = std::abs(found / rate - 1) < 1e-9;
    rate = found;
    if (settled) break;
  }
  std::vector<std::size_t> order(residuals.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return residuals[a].first < residuals[b].first; });
  std::vector<double> sorted, errors;
  for (const std::size_t i : order) {
    sorted.push_back(fitted.residuals[i]);
    errors.push_back(residuals[i].second);
  }
  const auto rate_of = [](double slope) {
    return slope > 0 ? 1 / slope : std::numeric_limits<double>::infinity();
  };
  constexpr double bound = 0.10;  // what the tile model reaches on published products (docs/cost.md)
  return Fit{"gemm " + std::string(name_of(type)),
             "t = tiles' work / rate + latency",
             {{"rate", Unit::flops, rate, rate_of(fitted.high[0]), rate_of(fitted.low[0])},
              {"latency", Unit::time, fitted.parameters[1], fitted.low[1], fitted.high[1]}},
             fitted.median_residual,
             static_cast<int>(sorted.size()),
             misfit(sorted, errors, bound)};
}

/// A median over measurements with the range of its distribution-free 95 % interval where there are enough.
FitParameter median_parameter(std::string name, Unit unit, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double count = static_cast<double>(values.size());
  const auto below =
      static_cast<std::size_t>(std::max(0.0, std::floor(0.5 * count - 0.98 * std::sqrt(count))));
  return {std::move(name), unit, median_of(values), values[below], values[values.size() - 1 - below]};
}

/// Median of |expected / measured - 1| over slowdowns.
double median_error(const std::vector<double>& measured, const std::vector<double>& expected) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < measured.size(); ++i) errors.push_back(std::abs(expected[i] / measured[i] - 1));
  return median_of(std::move(errors));
}

/// Beside a collective of time T that takes the share c of the core, a product of time A alone takes A / (1 -
/// c) while the collective lasts, and as alone after it.
std::optional<double> expected_slowdown(const MeasuredSet& set, const Measured& overlap) {
  for (const Measured& one : set.results) {
    const bool same = one.what.kind == Kind::collective && one.what.collective == overlap.what.collective &&
                      one.what.bytes == overlap.what.bytes && one.what.ranks == overlap.what.ranks;
    if (!same || one.median <= Seconds(0)) continue;
    const double share = std::min(0.95, one.host / one.median);
    const double alone = overlap.alone.value, whole = one.median.value;
    const double beside = alone / (1 - share);
    return (beside <= whole ? beside : alone + share * whole) / alone;
  }
  return {};
}

std::optional<Fit> fit_overlap(const MeasuredSet& set) {
  std::vector<double> slowdowns, measured, expected;
  for (const Measured* const one : of_kind(set, Kind::overlap)) {
    if (!(one->alone > Seconds(0))) continue;
    slowdowns.push_back(one->median / one->alone);
    if (set.device.compute_capability > 0) continue;
    if (const auto expects = expected_slowdown(set, *one)) {
      measured.push_back(slowdowns.back());
      expected.push_back(*expects);
    }
  }
  if (slowdowns.empty()) return {};
  Fit fit{"overlap", "beside a collective / alone", {}, 0, static_cast<int>(slowdowns.size()), ""};
  fit.parameters.push_back(median_parameter("slowdown", Unit::factor, slowdowns));
  if (measured.empty()) return fit;
  fit.parameters.push_back(median_parameter("expected_of_cpu_time", Unit::factor, expected));
  fit.residual = median_error(measured, expected);
  constexpr double bound = 0.10;
  if (fit.residual > bound) {
    fit.warning = "the CPU time of collectives explains the slowdown of products beside them only to " +
                  print_share(fit.residual);
  }
  return fit;
}

std::optional<Fit> fit_sustained(const MeasuredSet& set) {
  std::vector<double> slowdowns, slowest;
  for (const Measured* const one : of_kind(set, Kind::sustained)) {
    if (one->by_rank.size() > 1) {
      std::vector<double> times;
      for (const Seconds time : one->by_rank) times.push_back(time.value);
      slowest.push_back(*std::max_element(times.begin(), times.end()) / median_of(times));
    }
    for (const Measured* const burst : of_kind(set, Kind::gemm)) {
      const Measurement &a = one->what, &b = burst->what;
      if (a.rows == b.rows && a.columns == b.columns && a.depth == b.depth && a.dtype == b.dtype &&
          a.transpose_a == b.transpose_a && a.transpose_b == b.transpose_b)
        slowdowns.push_back(one->median / burst->median);
    }
  }
  if (slowdowns.empty() && slowest.empty()) return {};
  Fit fit{"sustained",
          "after seconds under load / alone",
          {},
          0,
          static_cast<int>(std::max(slowdowns.size(), slowest.size())),
          ""};
  if (!slowdowns.empty()) {
    fit.parameters.push_back(median_parameter("slowdown", Unit::factor, slowdowns));
    constexpr double bound = 0.05;
    if (fit.parameters.back().value > 1 + bound) {
      fit.warning = "under load products take " + print_share(fit.parameters.back().value - 1) +
                    " longer than measured one by one: the clock falls";
    }
  }
  if (!slowest.empty())
    fit.parameters.push_back(median_parameter("slowest_device_over_median", Unit::factor, slowest));
  return fit;
}

std::string name_of_series(const MeasuredSet& set, const CollectiveSeries& series) {
  std::string name = std::string(name_of(series.operation)) + ", " + std::to_string(series.ranks) +
                     " ranks on " + std::to_string(series.nodes) + (series.nodes == 1 ? " node" : " nodes");
  return name + ", " + (series.nodes == 1 ? set.node : set.fabric);
}

}  // namespace

double FitParameter::relative_error() const {
  constexpr double quantile = 1.96;
  if (!(value > 0)) return 0;
  if (std::isfinite(high)) return 0.5 * (high - low) / quantile / value;
  // A rate without an upper bound is 1 / slope with a slope that may be 0: the slope's own error.
  return low > 0 ? (value / low - 1) / quantile : std::numeric_limits<double>::infinity();
}

const FitParameter* Fit::find(std::string_view name) const {
  for (const FitParameter& one : parameters)
    if (one.name == name) return &one;
  return nullptr;
}

const FitParameter* FitSummary::find(std::string_view of, std::string_view name) const {
  for (const Fit& fit : fits)
    if (fit.of == of) return fit.find(name);
  return nullptr;
}

FitSummary fit_all(const MeasuredSet& set) {
  FitSummary summary;
  const auto keep = [&](std::optional<Fit> fit) {
    if (fit) summary.fits.push_back(*std::move(fit));
  };

  std::vector<const Measured*> copies, to_device, to_host;
  for (const Measured* const one : of_kind(set, Kind::kernel))
    if (one->what.operation == "copy") copies.push_back(one);
  for (const Measured* const one : of_kind(set, Kind::host_copy))
    (one->what.to_device ? to_device : to_host).push_back(one);
  keep(memory_curve(copies));
  keep(curve_of("copy to the device", timed_sizes(to_device, &Measurement::bytes)));
  keep(curve_of("copy to the host", timed_sizes(to_host, &Measurement::bytes)));

  GpuProfile gpu = base_profile(set.device);
  if (const FitParameter* const rate = summary.find("copy", "rate"))
    gpu.memory_rate.value = BytesPerSecond(rate->value);
  std::map<Dtype, std::vector<const Measured*>> products;
  for (const Measured* const one : of_kind(set, Kind::gemm)) products[one->what.dtype].push_back(one);
  for (const auto& [type, results] : products) keep(fit_gemm(gpu, type, results));

  std::vector<double> launches;
  for (const Measured* const one : of_kind(set, Kind::launch))
    if (one->host > Seconds(0)) launches.push_back(one->host.value);
  if (!launches.empty()) {
    const FitParameter launch = median_parameter("time", Unit::time, launches);
    keep(Fit{"launch", "CPU time of one launch", {launch}, 0, static_cast<int>(launches.size()), ""});
  }
  for (const CollectiveSeries& series : collective_series(set))
    keep(curve_of(name_of_series(set, series), series.times));
  keep(fit_overlap(set));
  keep(fit_sustained(set));
  return summary;
}

}  // namespace stepcast
