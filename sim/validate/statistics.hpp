#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stepcast {

/// The value at share q of the sorted numbers, linear between neighbours: position q (n - 1). Nothing of no
/// numbers.
[[nodiscard]] std::optional<double> quantile(std::vector<double> numbers, double q);

/// Kendall's tau-b of pairs: (concordant - discordant) / sqrt((pairs - ties in first) (pairs - ties in
/// second)). 1: the same ranking, -1: the reverse. Nothing of fewer than two pairs, or when one side is all
/// ties.
[[nodiscard]] std::optional<double> kendall_tau(const std::vector<std::pair<double, double>>& pairs);

/// How well a group of rows is predicted (design 6.4). Errors are predicted / measured - 1 of step seconds.
struct GroupSummary {
  std::string group;  ///< "all", "stated", "source:NAME", ...
  int rows{};
  std::optional<double> median_abs_error, p90_abs_error;
  std::optional<double> bias;  ///< median of the signed error; above 0: predicted too slow
  std::optional<double>
      kendall_tau;  ///< predicted against measured samples a second and GPU, ranked inside the group
};

/// One row's part in a summary.
struct Comparison {
  double relative_error{};
  double predicted_rate{}, measured_rate{};  ///< samples a second and GPU
};
[[nodiscard]] GroupSummary summarize_group(std::string group, const std::vector<Comparison>& comparisons);

}  // namespace stepcast
