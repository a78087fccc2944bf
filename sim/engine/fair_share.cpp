#include "sim/engine/fair_share.hpp"

#include <algorithm>
#include <limits>

#include "base/diagnostic.hpp"
#include "sim/engine/detail/fair_share_solver.hpp"

namespace stepcast {
namespace detail {
namespace {

/// Levels that differ by less are one: rounding must not part what is symmetric.
constexpr double rounding = 1e-12;

}  // namespace

void FairShareSolver::collect(std::span<const Resource> resources, std::span<const Activity> activities) {
  if (place_.size() < resources.size()) {
    place_.resize(resources.size());
    epoch_of_.resize(resources.size());
  }
  ++epoch_;
  fillings_.clear();
  std::size_t uses = 0;
  for (const Activity& activity : activities) {
    uses += activity.loads.size();
    for (const Load& load : activity.loads) {
      if (epoch_of_[load.resource] != epoch_) {
        epoch_of_[load.resource] = epoch_;
        place_[load.resource] = static_cast<int>(fillings_.size());
        fillings_.push_back({.capacity = resources[load.resource].capacity});
      }
      Filling& filling = fillings_[place_[load.resource]];
      filling.rising += load.weight * activity.alone_rate;
      ++filling.count;
    }
  }
  int first = 0;
  for (Filling& filling : fillings_) {
    filling.first = first;
    filling.rising_summed = filling.rising;
    first += filling.count;
  }
  uses_.resize(uses);
  for (int a = 0; a < static_cast<int>(activities.size()); ++a) {
    for (const Load& load : activities[a].loads) {
      Filling& filling = fillings_[place_[load.resource]];
      uses_[filling.first + filling.open++] = {a, load.weight * activities[a].alone_rate};
    }
  }
}

/// Adds up what is still rising once so much has been taken off that rounding could show.
void FairShareSolver::refresh(Filling& filling) {
  if (filling.open == 0 || filling.rising > 0.5 * filling.rising_summed) return;
  filling.rising = 0;
  for (int u = filling.first; u < filling.first + filling.count; ++u) {
    if (settled_[uses_[u].activity] == 0) filling.rising += uses_[u].use;
  }
  filling.rising_summed = filling.rising;
}

void FairShareSolver::settle(int activity, const Activity& what, double level, std::vector<double>& rates) {
  settled_[activity] = 1;
  rates[activity] = level * what.alone_rate;
  for (const Load& load : what.loads) {
    Filling& filling = fillings_[place_[load.resource]];
    filling.used += load.weight * rates[activity];
    filling.rising -= load.weight * what.alone_rate;
    --filling.open;
  }
}

void FairShareSolver::push_key(Key key) {
  heap_.push_back(key);
  std::push_heap(heap_.begin(), heap_.end());
}

FairShareSolver::Key FairShareSolver::pop_key() {
  std::pop_heap(heap_.begin(), heap_.end());
  const Key key = heap_.back();
  heap_.pop_back();
  return key;
}

void FairShareSolver::solve(std::span<const Resource> resources, std::span<const Activity> activities,
                            std::vector<double>& rates) {
  collect(resources, activities);
  settled_.assign(activities.size(), 0);
  rates.resize(activities.size());
  for (std::size_t a = 0; a < activities.size(); ++a) rates[a] = activities[a].alone_rate;  // level 1

  heap_.clear();
  for (int f = 0; f < static_cast<int>(fillings_.size()); ++f) {
    // One that is not full at level 1 never will be.
    if (const double level = fillings_[f].level(); level < 1 - rounding) heap_.push_back({level, f});
  }
  std::make_heap(heap_.begin(), heap_.end());
  double reached = 0;
  while (!heap_.empty()) {
    full_.clear();
    double level = 1, together = 1;
    while (!heap_.empty() && heap_.front().level <= together) {
      const Key key = pop_key();
      Filling& filling = fillings_[key.filling];
      if (filling.open == 0) continue;
      refresh(filling);
      const double now = filling.level();
      if (now >= 1 - rounding) continue;
      if (now > key.level) {
        push_key({now, key.filling});
        continue;
      }
      if (full_.empty()) {
        level = std::max(now, reached);  // levels only rise; rounding must not say otherwise
        together = level * (1 + rounding);
      }
      full_.push_back(key.filling);
    }
    reached = level;
    for (const int f : full_) {
      const Filling& filling = fillings_[f];
      for (int u = filling.first; u < filling.first + filling.count; ++u) {
        const int a = uses_[u].activity;
        if (settled_[a] == 0) settle(a, activities[a], level, rates);
      }
    }
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
