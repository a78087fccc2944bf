#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/program.hpp"

namespace stepcast::detail {

/// fair_share() with its memory kept between calls, for activities whose rate alone is known.
///
/// A resource's fill level, (capacity - what settled activities use) / (use per level of the others), only
/// rises while activities settle at lower levels, so a heap whose keys may be too small finds the next
/// resource to fill. Each activity settles once: about linear in the number of loads.
class FairShareSolver {
 public:
  struct Activity {
    std::span<const Load> loads;  ///< no resource twice, weights positive
    double alone_rate{};
  };

  /// rates[i]: of activities[i].
  void solve(std::span<const Resource> resources, std::span<const Activity> activities,
             std::vector<double>& rates);

 private:
  struct Filling {
    double capacity{};
    double used{};           ///< by activities whose rate is settled
    double rising{};         ///< sum of weight * alone rate of the others: use per level
    double rising_summed{};  ///< `rising` when it was last added up anew
    int first{};             ///< of its uses in uses_
    int count{};
    int open{};  ///< uses by activities that are not settled
    [[nodiscard]] double level() const { return (capacity - used) / rising; }
  };
  struct Use {
    int activity{};
    double use{};  ///< weight * alone rate
  };
  struct Key {
    double level{};
    int filling{};
    /// std::push_heap keeps the greatest on top: the lowest level, then the first resource.
    bool operator<(const Key& other) const {
      return level != other.level ? level > other.level : filling > other.filling;
    }
  };

  void collect(std::span<const Resource> resources, std::span<const Activity> activities);
  void refresh(Filling& filling);
  void settle(int activity, const Activity& what, double level, std::vector<double>& rates);
  Key pop_key();
  void push_key(Key key);

  std::vector<int> place_;  ///< by resource, in fillings_; valid where epoch_of_ is this call's
  std::vector<std::uint64_t> epoch_of_;
  std::uint64_t epoch_{};
  std::vector<Filling> fillings_;
  std::vector<Use> uses_;
  std::vector<char> settled_;
  std::vector<Key> heap_;
  std::vector<int> full_;
};

}  // namespace stepcast::detail
