#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace stepcast {

/// Relative errors of a set of predictions, each max(predicted / measured, measured / predicted) - 1.
class Residual {
 public:
  void add(double predicted, double measured) {
    errors_.push_back(std::exp(std::abs(std::log(predicted / measured))) - 1);
  }
  [[nodiscard]] std::size_t rows() const { return errors_.size(); }
  [[nodiscard]] double quantile(double q) const {
    std::vector<double> sorted = errors_;
    std::sort(sorted.begin(), sorted.end());
    return sorted.at(static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5));
  }
  [[nodiscard]] double median() const { return quantile(0.5); }
  [[nodiscard]] double p90() const { return quantile(0.9); }
  /// The line of the table in docs/cost.md.
  void print(const std::string& name) const {
    std::printf("| %s | %zu | %.1f %% | %.1f %% | %.1f %% |\n", name.c_str(), rows(), 100 * median(),
                100 * p90(), 100 * quantile(1));
  }

 private:
  std::vector<double> errors_;
};

}  // namespace stepcast
