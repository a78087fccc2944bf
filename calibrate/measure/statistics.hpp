#pragma once

#include <vector>

#include "base/units.hpp"

namespace stepcast {

/// Of an even number of samples, the mean of the two in the middle. @pre not empty
[[nodiscard]] Seconds median_of(std::vector<Seconds> samples);

/// What repeated samples say of their median, whatever their distribution.
struct Location {
  Seconds median;
  /// The narrowest pair of order statistics x(l), x(n + 1 - l) that covers the median with at least 95 %:
  /// P(Binomial(n, 1/2) < l) <= 2.5 %. Fewer than six samples allow no such pair (five: 93.75 %); then the
  /// least and the largest. Source: David and Nagaraja, Order Statistics, section 7.1.
  Seconds low, high;
  double spread{};  ///< 1.4826 x median of |x - median|, over the median: the relative standard deviation of
                    ///< a normal distribution, blind to outliers
  /// Half of the interval over the median.
  [[nodiscard]] double uncertainty() const {
    return median.value > 0 ? (high.value - low.value) / 2 / median.value : 0;
  }
};
/// @pre not empty
[[nodiscard]] Location locate(std::vector<Seconds> samples);

/// How many of `count` sorted samples lie below the interval on each side: l - 1 above.
[[nodiscard]] int samples_below_interval(int count);

}  // namespace stepcast
