#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace stepcast {

/// A point that takes longer than another one although its network is faster.
struct Anomaly {
  std::size_t point{}, slower_network{};  ///< indices of points
  double longer{};                        ///< step time over the other's, minus 1
  std::string text;                       ///< names both and the cause
};

/// Points that differ in nothing but cluster.link_rate, or in nothing but the rate of one kind of fabric
/// (efa-200g, efa-400g), and whose step is more than 1 % longer at the higher rate; each against the shortest
/// step at a lower rate. Longest first. Schedulers with contention do show such anomalies (design 7), so the
/// cause is looked for in what the two points' collectives do.
[[nodiscard]] std::vector<Anomaly> rate_anomalies(const Report& report);

/// How calls of the same operation run differently in the two points: "all_reduce (replicate) runs as ring/LL
/// instead of ring/Simple". Of several rows the one whose exposed time grew most; "" when all run alike.
[[nodiscard]] std::string changed_choice(const PointReport& point, const PointReport& other);

/// Warnings of rate_anomalies begin with it.
constexpr const char* anomaly_start = "slower on a faster network: ";

}  // namespace stepcast
