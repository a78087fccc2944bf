#include "sim/engine/fair_share.hpp"

#include <algorithm>
#include <limits>

#include "base/diagnostic.hpp"
#include "sim/engine/detail/fair_share_solver.hpp"

namespace stepcast {
namespace detail {

void FairShareSolver::solve(std::span<const Resource> resources, std::span<const Activity> activities,
                            std::vector<double>& rates) {
  if (fillings_.size() < resources.size()) fillings_.resize(resources.size());
  ++epoch_;
  touched_.clear();
  open_.clear();
  rates.assign(activities.size(), 0);
  for (int a = 0; a < static_cast<int>(activities.size()); ++a) {
    open_.push_back(a);
    for (const Load& load : activities[a].loads) {
      Filling& filling = fillings_[load.resource];
      if (filling.epoch == epoch_) continue;
      filling = {0, 0, epoch_, false};
      touched_.push_back(load.resource);
    }
  }
  double reached = 0;
  while (!open_.empty()) {
    for (const int r : touched_) fillings_[r].rising = 0;
    for (const int a : open_) {
      for (const Load& load : activities[a].loads) {
        fillings_[load.resource].rising += load.weight * activities[a].alone_rate;
      }
    }
    double level = 1;  // everyone at the rate that it has alone
    for (const int r : touched_) {
      const Filling& filling = fillings_[r];
      if (filling.rising > 0)
        level = std::min(level, (resources[r].capacity - filling.used) / filling.rising);
    }
    level = std::max(level, reached);  // levels only rise; rounding must not say otherwise
    reached = level;
    // Resources that fill together within rounding are one event, else symmetric activities would part.
    const double together = level * (1 + 1e-12);
    for (const int r : touched_) {
      Filling& filling = fillings_[r];
      filling.saturated =
          filling.rising > 0 && resources[r].capacity - filling.used <= together * filling.rising;
    }
    still_open_.clear();
    settled_.clear();
    for (const int a : open_) {
      const auto& loads = activities[a].loads;
      const bool held = level >= 1 || std::any_of(loads.begin(), loads.end(), [&](const Load& load) {
                          return fillings_[load.resource].saturated;
                        });
      (held ? settled_ : still_open_).push_back(a);
    }
    for (const int a : settled_) {
      rates[a] = level * activities[a].alone_rate;
      for (const Load& load : activities[a].loads) fillings_[load.resource].used += load.weight * rates[a];
    }
    open_.swap(still_open_);
  }
}

}  // namespace detail

void fair_share(std::span<const Resource> resources, std::span<const Demand> demands,
                std::vector<double>& rates) {
  std::vector<Load> loads;
  std::vector<int> first{0};
  std::vector<double> alone;
  std::vector<int> place(resources.size(), -1);
  for (const Demand& demand : demands) {
    const int begin = first.back();
    for (const Load& load : demand.loads) {
      if (load.weight <= 0) continue;
      int& where = place[load.resource];
      if (where >= begin) {
        loads[where].weight += load.weight;
      } else {
        where = static_cast<int>(loads.size());
        loads.push_back(load);
      }
    }
    first.push_back(static_cast<int>(loads.size()));
    double rate = demand.ceiling > 0 ? demand.ceiling : std::numeric_limits<double>::infinity();
    for (int l = begin; l < first.back(); ++l) {
      rate = std::min(rate, resources[loads[l].resource].capacity / loads[l].weight);
    }
    STEPCAST_CHECK(rate < std::numeric_limits<double>::infinity(),
                   "an activity without a ceiling must use a resource");
    alone.push_back(rate);
  }
  std::vector<detail::FairShareSolver::Activity> activities;
  for (std::size_t d = 0; d < demands.size(); ++d) {
    activities.push_back({std::span(loads).subspan(static_cast<std::size_t>(first[d]),
                                                   static_cast<std::size_t>(first[d + 1] - first[d])),
                          alone[d]});
  }
  detail::FairShareSolver().solve(resources, activities, rates);
}

}  // namespace stepcast
