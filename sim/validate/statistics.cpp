#include "sim/validate/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace stepcast {

std::optional<double> quantile(std::vector<double> numbers, double q) {
  if (numbers.empty()) return std::nullopt;
  std::sort(numbers.begin(), numbers.end());
  const double position = q * static_cast<double>(numbers.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, numbers.size() - 1);
  return numbers[below] + (position - std::floor(position)) * (numbers[above] - numbers[below]);
}

std::optional<double> kendall_tau(const std::vector<std::pair<double, double>>& pairs) {
  std::int64_t agreement = 0, first_differs = 0, second_differs = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (std::size_t j = i + 1; j < pairs.size(); ++j) {
      const auto sign = [](double a, double b) { return (a < b) - (b < a); };
      const int first = sign(pairs[i].first, pairs[j].first), second = sign(pairs[i].second, pairs[j].second);
      agreement += first * second;
      first_differs += first != 0 ? 1 : 0;
      second_differs += second != 0 ? 1 : 0;
    }
  }
  if (first_differs == 0 || second_differs == 0) return std::nullopt;
  return static_cast<double>(agreement) /
         std::sqrt(static_cast<double>(first_differs) * static_cast<double>(second_differs));
}

GroupSummary summarize_group(std::string group, const std::vector<Comparison>& comparisons) {
  GroupSummary summary;
  summary.group = std::move(group);
  summary.rows = static_cast<int>(comparisons.size());
  std::vector<double> errors, sizes;
  std::vector<std::pair<double, double>> rates;
  for (const Comparison& comparison : comparisons) {
    errors.push_back(comparison.relative_error);
    sizes.push_back(std::abs(comparison.relative_error));
    rates.emplace_back(comparison.predicted_rate, comparison.measured_rate);
  }
  summary.median_abs_error = quantile(sizes, 0.5);
  summary.p90_abs_error = quantile(sizes, 0.9);
  summary.bias = quantile(errors, 0.5);
  summary.kendall_tau = kendall_tau(rates);
  return summary;
}

}  // namespace stepcast
