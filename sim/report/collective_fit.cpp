#include "sim/report/collective_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace stepcast {
namespace {

constexpr std::size_t fitted = 5;
constexpr std::array fixed_sizes{kibibytes(1), kibibytes(64), mebibytes(1), mebibytes(16), gibibytes(1)};
constexpr Bytes spanned_from = kibibytes(4), spanned_to = mebibytes(256);

/// Index of the size nearest to `wanted` by ratio.
std::size_t nearest(const MeasuredTimes& times, double log_wanted) {
  const auto found = std::min_element(times.begin(), times.end(), [&](const auto& a, const auto& b) {
    return std::abs(std::log(a.first.value) - log_wanted) < std::abs(std::log(b.first.value) - log_wanted);
  });
  return static_cast<std::size_t>(found - times.begin());
}

}  // namespace

MeasuredTimes five_sizes(const MeasuredTimes& times) {
  if (times.size() <= fitted) return times;
  const Bytes first = times.front().first, last = times.back().first;
  std::set<std::size_t> chosen;
  if (first <= spanned_from && last >= spanned_to) {
    for (const Bytes size : fixed_sizes) chosen.insert(nearest(times, std::log(size.value)));
  } else {
    const double span = std::log(last / first);
    for (std::size_t i = 0; i < fitted; ++i) {
      const double share = static_cast<double>(i) / (fitted - 1);
      chosen.insert(nearest(times, std::log(first.value) + share * span));
    }
  }
  MeasuredTimes points;
  for (const std::size_t index : chosen) points.push_back(times[index]);
  return points;
}

MeasuredCollective as_measured(const Scenario& scenario, Operation operation, MeasuredTimes points) {
  const ClusterSection& cluster = scenario.cluster;
  MeasuredCollective made;
  made.operation = name_of(operation);
  made.ranks = cluster.nodes * cluster.gpus_per_node;
  made.nodes = cluster.nodes;
  made.gpus_per_node = cluster.gpus_per_node;
  made.fabric = cluster.nodes > 1 ? cluster.fabric_spec.name : cluster.node_spec.name;
  if (cluster.nodes > 1) made.link_rate = cluster.fabric_spec.link_rate;
  made.points = std::move(points);
  return made;
}

}  // namespace stepcast
