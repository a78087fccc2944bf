#include "sim/engine/detail/random.hpp"

#include <cmath>
#include <numbers>

namespace stepcast::detail {

double normal_from_upper_tail(double tail) {
  if (tail > 0.5) return -normal_from_upper_tail(1 - tail);
  const double t = std::sqrt(-2 * std::log(tail));
  const double above = 2.515517 + t * (0.802853 + t * 0.010328);
  const double below = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
  const double z = t - above / below;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double step = (std::erfc(z / std::numbers::sqrt2) / 2 - tail) / density;
  return z + step / (1 - z * step / 2);
}

double normal_maximum(double u, int count) {
  // 1 - u^(1/count) without cancellation, since the root is close to 1 for large counts.
  return normal_from_upper_tail(-std::expm1(std::log(u) / count));
}

}  // namespace stepcast::detail
