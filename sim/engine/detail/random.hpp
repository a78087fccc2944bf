#pragma once

#include <cstdint>

#include "base/hash.hpp"

namespace stepcast::detail {

/// SplitMix64: the same numbers on every platform, which the distributions of <random> are not.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += golden_ratio;
    return mixed(state_);
  }

  /// Uniform, never 0 nor 1.
  double uniform() { return (static_cast<double>(next() >> 11U) + 0.5) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// z with P(Z > z) = tail for a standard normal Z; tail in (0, 1). Absolute error below 1e-8 for tails above
/// 1e-15. Start: Abramowitz and Stegun 26.2.23 (error below 4.5e-4); then one Halley step on erfc, which
/// cubes it.
[[nodiscard]] double normal_from_upper_tail(double tail);

/// The largest of `count` standard normal draws: inverse CDF of u^(1/count), u uniform in (0, 1).
[[nodiscard]] double normal_maximum(double u, int count);

}  // namespace stepcast::detail
