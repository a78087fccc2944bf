#include "sim/collective/measured.hpp"

#include <cmath>
#include <tuple>

namespace stepcast {

MeasuredMatch find_measured(const std::vector<MeasuredCollective>& collectives, const MeasuredQuery& query) {
  MeasuredMatch match;
  std::tuple<bool, double, double> nearest;
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
    if (holds) {
      match.entry = &candidate;
      continue;
    }
    // What was measured between nodes says nothing of a group inside one, nor the other way.
    if ((candidate.nodes > 1) != (query.nodes > 1)) continue;
    const bool other_ranks = candidate.ranks != query.ranks || candidate.nodes != query.nodes ||
                             (candidate.gpus_per_node && *candidate.gpus_per_node != query.per_node);
    const double ranks = std::abs(std::log(static_cast<double>(candidate.ranks) / query.ranks));
    const double rate = candidate.link_rate ? std::abs(std::log(*candidate.link_rate / query.link_rate)) : 0;
    const std::tuple distance{other_ranks, ranks, rate};
    if (match.relative != nullptr && distance > nearest) continue;
    nearest = distance;
    match.relative = &candidate;
    match.other_ranks = other_ranks;
  }
  return match;
}

}  // namespace stepcast
