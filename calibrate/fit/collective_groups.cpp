#include "calibrate/fit/collective_groups.hpp"

#include <algorithm>
#include <map>

#include "calibrate/fit/robust_fit.hpp"

namespace stepcast {

std::vector<CollectiveSeries> collective_series(const MeasuredSet& set) {
  struct AtSize {
    std::vector<double> times, errors, cpu;
  };
  struct Gathered {
    CollectiveSeries series;
    std::map<double, AtSize> by_size;
    std::vector<double> spreads;
  };
  std::vector<Gathered> found;
  for (const Measured& one : set.results) {
    const Measurement& what = one.what;
    if (what.kind != Measurement::Kind::collective || one.median <= Seconds(0)) continue;
    const int ranks = static_cast<int>(what.ranks.size());
    auto place = std::find_if(found.begin(), found.end(), [&](const Gathered& other) {
      return other.series.operation == what.collective && other.series.ranks == ranks &&
             other.series.nodes == what.nodes;
    });
    if (place == found.end()) {
      found.push_back({{what.collective, ranks, what.nodes, {}, {}, 0}, {}, {}});
      place = found.end() - 1;
    }
    AtSize& at = place->by_size[what.bytes.value];
    at.times.push_back(one.median.value);
    at.errors.push_back(relative_error(one));
    at.cpu.push_back(one.host.value);
    place->spreads.push_back(one.spread);
  }

  const bool host = set.device.compute_capability == 0;
  std::vector<CollectiveSeries> all;
  for (Gathered& one : found) {
    for (const auto& [size, at] : one.by_size) {
      one.series.times.push_back({Bytes(size), Seconds(median_of(at.times)), median_of(at.errors)});
      if (host) one.series.cpu_times.emplace_back(Bytes(size), Seconds(median_of(at.cpu)));
    }
    one.series.spread = median_of(one.spreads);
    all.push_back(std::move(one.series));
  }
  return all;
}

}  // namespace stepcast
