#include "sim/engine/fold.hpp"

#include <algorithm>

namespace stepcast {

std::size_t LinkFolder::KeyHash::operator()(const Key& key) const {
  return std::hash<double>()(key.what) ^ (static_cast<std::size_t>(key.from) * 0x9e3779b97f4a7c15U);
}

void LinkFolder::begin_cost() {
  used_.clear();
  refined_.clear();
}

void LinkFolder::use(int link, double weight) {
  if (weight <= 0) return;
  if (link >= static_cast<int>(class_of_.size())) {
    const auto size = static_cast<std::size_t>(link) + 1;
    class_of_.resize(size, -1);
    weight_.resize(size, 0);
    cost_of_weight_.resize(size, -1);
  }
  if (cost_of_weight_[link] == costs_) {
    weight_[link] += weight;
    return;
  }
  cost_of_weight_[link] = costs_;
  weight_[link] = weight;
  used_.push_back(link);
}

/// Links of one class that this cost loads alike move to a class of their own.
void LinkFolder::end_cost() {
  Key last_key{-2, 0};
  int last_class = -1;
  for (const int link : used_) {
    int& current = class_of_[link];
    if (current < 0) {
      const double capacity = capacity_of_link_(link);
      const auto [found, is_new] =
          class_of_capacity_.try_emplace(capacity, static_cast<int>(classes_.size()));
      if (is_new) classes_.push_back({capacity, {}});
      current = found->second;
    }
    const Key key{current, weight_[link]};
    if (!(key == last_key)) {  // neighbours are mostly alike
      last_class = class_for(key);
      last_key = key;
    }
    current = last_class;
  }
  ++costs_;
}

int LinkFolder::class_for(const Key& key) {
  const auto [found, is_new] = refined_.try_emplace(key, static_cast<int>(classes_.size()));
  if (is_new) {
    LinkClass refined = classes_[key.from];
    refined.uses.push_back({costs_, key.what});
    classes_.push_back(std::move(refined));
  }
  return found->second;
}

FoldedLinks LinkFolder::fold() const {
  FoldedLinks folded;
  folded.loads.resize(static_cast<std::size_t>(costs_));
  std::vector<int> resource_of(classes_.size(), -1);
  for (int link = 0; link < static_cast<int>(class_of_.size()); ++link) {
    if (class_of_[link] < 0) continue;
    int& resource = resource_of[class_of_[link]];
    if (resource >= 0) {
      ++folded.resources[resource].links;
      continue;
    }
    resource = static_cast<int>(folded.resources.size());
    const LinkClass& links = classes_[class_of_[link]];
    folded.resources.push_back({links.capacity, link, 1});
    for (const Use& use : links.uses) folded.loads[use.cost].push_back({resource, use.weight});
  }
  return folded;
}

}  // namespace stepcast
