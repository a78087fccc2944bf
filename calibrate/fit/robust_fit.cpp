#include "calibrate/fit/robust_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/diagnostic.hpp"

namespace stepcast {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double huber_bound = 1.345, tukey_bound = 4.685;  // 95 % efficient where errors are normal

/// Standard deviation of the residuals as their median magnitude tells it; the fit makes as many of them
/// small as it has parameters, so those are left out.
double robust_scale(const VectorXd& residuals, Index parameters) {
  std::vector<double> magnitudes(residuals.begin(), residuals.end());
  for (double& one : magnitudes) one = std::abs(one);
  std::sort(magnitudes.begin(), magnitudes.end());
  const auto fitted = static_cast<std::size_t>(std::min(parameters, residuals.size() - 1));
  magnitudes.erase(magnitudes.begin(), magnitudes.begin() + static_cast<std::ptrdiff_t>(fitted));
  return 1.4826 * median_of(std::move(magnitudes));
}

struct Solution {
  VectorXd parameters, deviations;  ///< standard deviations of the parameters
};

VectorXd solve(const MatrixXd& terms, const VectorXd& values, const VectorXd& weights) {
  const VectorXd roots = weights.cwiseSqrt();
  return (roots.asDiagonal() * terms).colPivHouseholderQr().solve(roots.cwiseProduct(values));
}

/// rho''(u) and rho'(u) / u of the robust loss in use.
struct Loss {
  bool tukey{};
  [[nodiscard]] double weight(double u) const {
    const double size = std::abs(u);
    if (!tukey) return size <= huber_bound ? 1 : huber_bound / size;
    if (size >= tukey_bound) return 0;
    const double inner = 1 - (u / tukey_bound) * (u / tukey_bound);
    return inner * inner;
  }
  [[nodiscard]] double slope(double u) const {
    const double size = std::abs(u);
    if (!tukey) return size <= huber_bound ? 1 : 0;
    if (size >= tukey_bound) return 0;
    const double square = (u / tukey_bound) * (u / tukey_bound);
    return (1 - square) * (1 - 5 * square);
  }
};

Solution solve_robust(const MatrixXd& terms, const VectorXd& values) {
  const Index count = terms.rows(), parameters = terms.cols(), left = count - parameters;
  VectorXd weights = VectorXd::Ones(count);
  VectorXd estimate = solve(terms, values, weights);
  double scale = 0;
  Loss loss;
  for (const bool tukey : {false, true}) {
    if (left < (tukey ? 3 : 1)) break;
    for (int iteration = 0; iteration < 50; ++iteration) {
      const VectorXd residuals = values - terms * estimate;
      // Tukey's rho has many minima: its scale stays the one that Huber's found.
      if (!tukey) scale = robust_scale(residuals, parameters);
      if (scale <= 1e-9) break;
      const Loss next{tukey};
      const VectorXd fresh = (residuals / scale).unaryExpr([&](double u) { return next.weight(u); });
      const VectorXd moved = solve(terms, values, fresh);
      if ((fresh.array() > 0).count() < parameters + 1) break;
      weights = fresh;
      loss = next;
      const bool settled = (moved - estimate).norm() <= 1e-10 * estimate.norm();
      estimate = moved;
      if (settled) break;
    }
  }
  // Without observations to spare only the measurements' own errors are known; they are 1 in these units.
  double variance = 1;
  if (left >= 1) {
    scale = std::max(scale, 1e-9);
    const VectorXd u = (values - terms * estimate) / scale;
    const double influence = u.unaryExpr([&](double x) { return std::pow(loss.weight(x) * x, 2); }).sum();
    const double slope = u.unaryExpr([&](double x) { return loss.slope(x); }).mean();
    const double correction =
        1 + static_cast<double>(parameters) / static_cast<double>(count) * (1 - slope) / slope;
    variance = std::pow(correction * scale / slope, 2) * influence / static_cast<double>(left);
  }
  const MatrixXd inverse = (terms.transpose() * terms).completeOrthogonalDecomposition().pseudoInverse();
  return {estimate, (variance * inverse.diagonal()).cwiseMax(0).cwiseSqrt()};
}

/// 97.5 % quantile of Student's distribution.
double student_quantile(int degrees_of_freedom) {
  return boost::math::quantile(boost::math::students_t(std::max(1, degrees_of_freedom)), 0.975);
}

}  // namespace

double median_of(std::vector<double> values) {
  STEPCAST_CHECK(!values.empty(), "the median of nothing");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

RobustFit fit_linear(const std::vector<Observation>& observations) {
  STEPCAST_CHECK(!observations.empty(), "a fit without measurements");
  const auto count = static_cast<Index>(observations.size());
  const auto wanted = static_cast<Index>(observations.front().terms.size());
  STEPCAST_CHECK(count >= wanted, "a fit with fewer measurements than parameters");
  MatrixXd terms(count, wanted);
  VectorXd values(count);
  for (Index i = 0; i < count; ++i) {
    const Observation& one = observations[static_cast<std::size_t>(i)];
    STEPCAST_CHECK(one.value > 0 && one.relative_error > 0, "a fit of times that are not above zero");
    for (Index k = 0; k < wanted; ++k)
      terms(i, k) = one.terms[static_cast<std::size_t>(k)] / (one.value * one.relative_error);
    values(i) = 1 / one.relative_error;
  }
  // Columns of one length, since seconds and seconds a byte differ by ten orders of magnitude.
  const VectorXd lengths = terms.colwise().norm().transpose().cwiseMax(1e-300);
  const MatrixXd scaled = terms * lengths.cwiseInverse().asDiagonal();

  RobustFit fit;
  fit.parameters.assign(static_cast<std::size_t>(wanted), 0.0);
  fit.low = fit.high = fit.parameters;
  std::vector<Index> kept;
  for (Index k = 0; k < wanted; ++k) kept.push_back(k);
  while (!kept.empty()) {
    const Solution solution = solve_robust(scaled(Eigen::all, kept), values);
    const double quantile = student_quantile(static_cast<int>(count - static_cast<Index>(kept.size())));
    Index worst = -1;
    for (Index k = 0; k < static_cast<Index>(kept.size()); ++k) {
      const Index column = kept[static_cast<std::size_t>(k)];
      const auto place = static_cast<std::size_t>(column);
      const double value = solution.parameters(k) / lengths(column);
      const double reach = quantile * solution.deviations(k) / lengths(column);
      fit.parameters[place] = std::max(0.0, value);
      fit.low[place] = std::max(0.0, value - reach);
      fit.high[place] = std::max(0.0, value + reach);
      if (solution.parameters(k) < 0 && (worst < 0 || solution.parameters(k) < solution.parameters(worst)))
        worst = k;
    }
    if (worst < 0) break;
    kept.erase(kept.begin() + worst);
  }

  std::vector<double> magnitudes;
  for (const Observation& one : observations) {
    double sum = 0;
    for (std::size_t k = 0; k < one.terms.size(); ++k) sum += one.terms[k] * fit.parameters[k];
    fit.residuals.push_back(sum / one.value - 1);
    magnitudes.push_back(std::abs(fit.residuals.back()));
  }
  fit.median_residual = median_of(std::move(magnitudes));
  return fit;
}

}  // namespace stepcast
