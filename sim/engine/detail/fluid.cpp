#include "sim/engine/detail/fluid.hpp"

#include <cmath>

namespace stepcast::detail {
namespace {

/// A rate that changes by less has not changed: sums in another order.
constexpr double rounding = 1e-12;

}  // namespace

FluidNetwork::FluidNetwork(std::span<const Resource> resources)
    : resources_(resources),
      users_(resources.size()),
      visited_(resources.size(), 0),
      is_touched_(resources.size(), 0) {}

void FluidNetwork::touch(const Flow& flow) {
  for (const Load& load : flow.loads) {
    if (is_touched_[load.resource]) continue;
    is_touched_[load.resource] = 1;
    touched_.push_back(load.resource);
  }
}

void FluidNetwork::start(int flow, std::span<const Load> loads, double alone_rate) {
  if (flow >= static_cast<int>(flows_.size())) flows_.resize(static_cast<std::size_t>(flow) + 1);
  Flow& started = flows_[flow];
  started.loads = loads;
  started.alone_rate = alone_rate;
  started.rate = 0;
  started.places.resize(loads.size());
  for (int l = 0; l < static_cast<int>(loads.size()); ++l) {
    std::vector<User>& users = users_[loads[l].resource];
    started.places[l] = static_cast<int>(users.size());
    users.push_back({flow, l});
  }
  touch(started);
}

void FluidNetwork::stop(int flow) {
  const Flow& stopped = flows_[flow];
  for (std::size_t l = 0; l < stopped.loads.size(); ++l) {
    std::vector<User>& users = users_[stopped.loads[l].resource];
    const User last = users.back();
    users[stopped.places[l]] = last;
    flows_[last.flow].places[last.load] = stopped.places[l];
    users.pop_back();
  }
  touch(stopped);
}

void FluidNetwork::collect_component(int resource) {
  component_.clear();
  frontier_.assign(1, resource);
  visited_[resource] = epoch_;
  while (!frontier_.empty()) {
    const int reached = frontier_.back();
    frontier_.pop_back();
    for (const User& user : users_[reached]) {
      Flow& flow = flows_[user.flow];
      if (flow.visited == epoch_) continue;
      flow.visited = epoch_;
      component_.push_back(user.flow);
      for (const Load& load : flow.loads) {
        if (visited_[load.resource] == epoch_) continue;
        visited_[load.resource] = epoch_;
        frontier_.push_back(load.resource);
      }
    }
  }
}

void FluidNetwork::resolve(std::vector<RateChange>& changes) {
  ++epoch_;
  for (const int resource : touched_) {
    is_touched_[resource] = 0;
    if (visited_[resource] == epoch_) continue;
    collect_component(resource);
    if (component_.empty()) continue;
    activities_.clear();
    for (const int flow : component_) activities_.push_back({flows_[flow].loads, flows_[flow].alone_rate});
    solver_.solve(resources_, activities_, rates_);
    for (std::size_t i = 0; i < component_.size(); ++i) {
      Flow& flow = flows_[component_[i]];
      if (std::abs(flow.rate - rates_[i]) <= rounding * rates_[i]) continue;
      flow.rate = rates_[i];
      changes.push_back({component_[i], rates_[i]});
    }
  }
  touched_.clear();
}

}  // namespace stepcast::detail
