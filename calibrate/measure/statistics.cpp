#include "calibrate/measure/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

/// Of a tail of the interval.
constexpr double miss = 0.025;
/// Standard deviation over median absolute deviation of a normal distribution.
constexpr double normal_deviation = 1.4826;

Seconds middle_of_sorted(const std::vector<Seconds>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

Seconds median_of(std::vector<Seconds> samples) {
  STEPCAST_CHECK(!samples.empty(), "the median of nothing");
  std::sort(samples.begin(), samples.end());
  return middle_of_sorted(samples);
}

int samples_below_interval(int count) {
  const auto probability = [count](int below) {  // of just so many samples under the median
    return std::exp(std::lgamma(count + 1) - std::lgamma(below + 1) - std::lgamma(count - below + 1) -
                    count * std::log(2));
  };
  int below = 0;
  for (double tail = probability(0); tail <= miss && 2 * below < count; tail += probability(below)) ++below;
  return std::max(0, below - 1);
}

Location locate(std::vector<Seconds> samples) {
  STEPCAST_CHECK(!samples.empty(), "the median of nothing");
  std::sort(samples.begin(), samples.end());
  Location location;
  location.median = middle_of_sorted(samples);
  const auto below = static_cast<std::size_t>(samples_below_interval(static_cast<int>(samples.size())));
  location.low = samples[below];
  location.high = samples[samples.size() - 1 - below];
  std::vector<Seconds> away;
  for (const Seconds sample : samples) away.emplace_back(std::abs((sample - location.median).value));
  if (location.median.value > 0) location.spread = normal_deviation * (median_of(away) / location.median);
  return location;
}

}  // namespace stepcast
