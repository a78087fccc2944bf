#include "sim/collective/measured.hpp"

#include <algorithm>
#include <cmath>

#include "base/diagnostic.hpp"

namespace stepcast {

MeasuredMatch find_measured(const std::vector<MeasuredCollective>& collectives, const MeasuredQuery& query) {
  MeasuredMatch match;
  // Rates are written as text with a unit; equal texts in other units may differ in the last bit.
  const auto same_rate = [&](BytesPerSecond rate) {
    return std::abs(rate.value - query.link_rate.value) <= 1e-9 * query.link_rate.value;
  };
  for (const auto& candidate : collectives) {
    const bool inside_node = query.nodes == 1 && candidate.fabric == query.node;
    if (candidate.operation != query.operation || candidate.points.empty()) continue;
    if (candidate.fabric != query.fabric && !inside_node) continue;
    const bool holds = candidate.ranks == query.ranks && candidate.nodes == query.nodes &&
                       (!candidate.link_rate || same_rate(*candidate.link_rate)) &&
                       (!candidate.gpus_per_node || *candidate.gpus_per_node == query.per_node);
    if (holds)
      match.entry = &candidate;
    else
      match.relatives = true;
  }
  return match;
}

double interpolate_ratio(const std::vector<std::pair<Bytes, double>>& points, Bytes size) {
  STEPCAST_CHECK(!points.empty(), "no measured points");
  const auto above = std::lower_bound(points.begin(), points.end(), size,
                                      [](const auto& point, Bytes wanted) { return point.first < wanted; });
  if (above == points.end()) return points.back().second;
  if (above->first == size || above == points.begin()) return above->second;
  const auto below = above - 1;
  const double position = std::log(size / below->first) / std::log(above->first / below->first);
  return below->second * std::pow(above->second / below->second, position);
}

}  // namespace stepcast
