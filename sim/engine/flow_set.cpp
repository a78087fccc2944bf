#include "sim/engine/flow_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/diagnostic.hpp"

namespace stepcast {

FlowSet::FlowSet(std::vector<Resource> resources) : resources_(std::move(resources)) {}

int FlowSet::add_path(std::span<const Load> loads, double rate_ceiling) {
  double rate = rate_ceiling > 0 ? rate_ceiling : std::numeric_limits<double>::infinity();
  const int path = add_shared_path(loads, 1);
  for (const Load& load : this->loads(paths_[path])) {
    rate = std::min(rate, resources_[load.resource].capacity / load.weight);
  }
  STEPCAST_CHECK(rate > 0 && std::isfinite(rate), "a path of flows must have a rate that is more than 0");
  paths_[path].alone_rate = rate;
  return path;
}

int FlowSet::add_shared_path(std::span<const Load> loads, double alone_rate) {
  const std::size_t first = loads_.size();
  for (const Load& load : loads) {
    STEPCAST_CHECK(load.resource >= 0 && load.resource < static_cast<int>(resources_.size()) &&
                       load.weight >= 0 && std::isfinite(load.weight),
                   "a load of a path is not one of the resources, or its weight is not a number");
    if (load.weight == 0) continue;
    const auto same = std::find_if(loads_.begin() + static_cast<std::ptrdiff_t>(first), loads_.end(),
                                   [&](const Load& other) { return other.resource == load.resource; });
    if (same != loads_.end())
      same->weight += load.weight;
    else
      loads_.push_back(load);
  }
  paths_.push_back({first, static_cast<int>(loads_.size() - first), alone_rate});
  latest_kind_.push_back(-1);
  return static_cast<int>(paths_.size()) - 1;
}

void FlowSet::wait_for(int before, int successor) {
  STEPCAST_CHECK(before >= 0 && before < flow_count() - 1, "a flow may only wait for flows added before it");
  successors_.push_back({successor, first_successor_[before]});
  first_successor_[before] = static_cast<int>(successors_.size()) - 1;
}

int FlowSet::add_flow(int path, double bytes, Picoseconds latency, std::span<const int> after,
                      std::span<const int> behind) {
  STEPCAST_CHECK(path >= 0 && path < static_cast<int>(paths_.size()) && bytes >= 0 && std::isfinite(bytes) &&
                     latency >= 0,
                 "a flow without path, or with a size or latency below 0");
  const int flow = flow_count();
  int& kind = latest_kind_[path];
  if (kind < 0 || kinds_[kind].bytes != bytes || kinds_[kind].latency != latency) {
    kind = static_cast<int>(kinds_.size());
    kinds_.push_back({path, bytes, latency});
  }
  kind_of_.push_back(kind);
  predecessors_.push_back(static_cast<int>(after.size() + behind.size()));
  first_successor_.push_back(-1);
  for (const int before : after) wait_for(before, flow);
  for (const int before : behind) wait_for(before, ~flow);
  return flow;
}

void FlowSet::reserve(std::size_t flows, std::size_t pairs) {
  kind_of_.reserve(flows);
  predecessors_.reserve(flows);
  first_successor_.reserve(flows);
  successors_.reserve(pairs);
}

}  // namespace stepcast
