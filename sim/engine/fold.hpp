#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "sim/engine/program.hpp"

namespace stepcast {

struct FoldedLinks {
  std::vector<Resource> resources;       ///< by representative link, ascending
  std::vector<std::vector<Load>> loads;  ///< by cost, in the order in which they were added
};

/// Folds links into resources: links of one capacity that every cost loads with one weight are one resource,
/// whose representative is the lowest link. Exact: such links are equally full at every moment, whatever
/// runs. Links that no cost loads are left out. Partition refinement, linear in the number of (link, weight)
/// pairs.
///
///     LinkFolder folder([&](int link) { return collectives.usable_capacity(link).value; });
///     for (const CollectivePlan& plan : plans) folder.add(*plan.loads);
///     FoldedLinks folded = folder.fold();
class LinkFolder {
 public:
  /// @param capacity_of_link  bytes per second; called once for each link that some cost loads
  explicit LinkFolder(std::function<double(int)> capacity_of_link)
      : capacity_of_link_(std::move(capacity_of_link)) {}

  /// One cost: a range of anything with .link and .weight. A link that occurs twice has the sum of its
  /// weights.
  template <class LinkLoads>
  void add(const LinkLoads& loads) {
    begin_cost();
    for (const auto& load : loads) use(load.link, load.weight);
    end_cost();
  }

  [[nodiscard]] FoldedLinks fold() const;

 private:
  struct Use {
    int cost{};
    double weight{};
  };
  struct LinkClass {
    double capacity{};
    std::vector<Use> uses;
  };
  struct Key {
    int from{};  ///< class before this cost
    double what{};
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  void begin_cost();
  void use(int link, double weight);
  void end_cost();
  int class_for(const Key& key);

  std::function<double(int)> capacity_of_link_;
  std::vector<int> class_of_;   ///< by link; -1: no cost has loaded it
  std::vector<double> weight_;  ///< by link, of the cost being added
  std::vector<int> cost_of_weight_;
  std::vector<int> used_;  ///< links of the cost being added
  std::vector<LinkClass> classes_;
  std::unordered_map<double, int> class_of_capacity_;
  std::unordered_map<Key, int, KeyHash> refined_;
  int costs_{};
};

}  // namespace stepcast
