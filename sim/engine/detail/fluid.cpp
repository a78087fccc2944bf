#include "sim/engine/detail/fluid.hpp"

#include <algorithm>

namespace stepcast::detail {

FluidNetwork::FluidNetwork(std::span<const Resource> resources, std::span<const Load> loads)
    : resources_(resources),
      loads_(loads),
      flows_on_(resources.size()),
      visited_(resources.size(), 0),
      is_touched_(resources.size(), 0) {}

void FluidNetwork::touch(const Flow& flow) {
  for (const Load& load : flow.loads) {
    if (is_touched_[load.resource]) continue;
    is_touched_[load.resource] = 1;
    touched_.push_back(load.resource);
  }
}

void FluidNetwork::start(int flow, const CompiledCost& cost) {
  if (flow >= static_cast<int>(flows_.size())) flows_.resize(static_cast<std::size_t>(flow) + 1);
  Flow& started = flows_[flow];
  started.loads =
      loads_.subspan(static_cast<std::size_t>(cost.first_load), static_cast<std::size_t>(cost.load_count));
  started.alone_rate = cost.alone_rate;
  started.rate = 0;
  for (const Load& load : started.loads) flows_on_[load.resource].push_back(flow);
  touch(started);
}

void FluidNetwork::stop(int flow) {
  for (const Load& load : flows_[flow].loads) {
    std::vector<int>& on = flows_on_[load.resource];
    on.erase(std::find(on.begin(), on.end(), flow));
  }
  touch(flows_[flow]);
}

void FluidNetwork::collect_component(int resource) {
  component_.clear();
  frontier_.assign(1, resource);
  visited_[resource] = epoch_;
  while (!frontier_.empty()) {
    const int reached = frontier_.back();
    frontier_.pop_back();
    for (const int flow : flows_on_[reached]) {
      if (flows_[flow].visited == epoch_) continue;
      flows_[flow].visited = epoch_;
      component_.push_back(flow);
      for (const Load& load : flows_[flow].loads) {
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
    if (component_.size() == 1) {
      rates_.assign(1, flows_[component_.front()].alone_rate);
    } else {
      activities_.clear();
      for (const int flow : component_) activities_.push_back({flows_[flow].loads, flows_[flow].alone_rate});
      solver_.solve(resources_, activities_, rates_);
    }
    for (std::size_t i = 0; i < component_.size(); ++i) {
      Flow& flow = flows_[component_[i]];
      if (flow.rate == rates_[i]) continue;
      flow.rate = rates_[i];
      changes.push_back({component_[i], rates_[i]});
    }
  }
  touched_.clear();
}

}  // namespace stepcast::detail
