#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/program.hpp"

namespace stepcast::detail {

/// fair_share() with its memory kept between calls, for activities whose rate alone is known.
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
    double used{};    ///< by activities whose rate is settled
    double rising{};  ///< sum of weight * alone rate of the others: use per level
    std::uint64_t epoch{};
    bool saturated{};
  };
  std::vector<Filling> fillings_;
  std::vector<int> touched_;
  std::vector<int> open_, still_open_, settled_;
  std::uint64_t epoch_{};
};

}  // namespace stepcast::detail
