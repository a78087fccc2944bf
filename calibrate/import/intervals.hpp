#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace stepcast {

/// A set of times, as intervals that neither touch nor overlap, ascending.
class Intervals {
 public:
  /// Starts must ascend from call to call.
  void add(std::int64_t start, std::int64_t end) {
    if (end <= start) return;
    if (!parts_.empty() && start <= parts_.back().second) {
      parts_.back().second = std::max(parts_.back().second, end);
    } else {
      parts_.emplace_back(start, end);
    }
  }

  /// How much of [start, end) lies in the set.
  [[nodiscard]] std::int64_t covered(std::int64_t start, std::int64_t end) const {
    auto part = std::upper_bound(parts_.begin(), parts_.end(), start,
                                 [](std::int64_t time, const auto& one) { return time < one.second; });
    std::int64_t sum = 0;
    for (; part != parts_.end() && part->first < end; ++part)
      sum += std::min(end, part->second) - std::max(start, part->first);
    return sum;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> parts_;
};

}  // namespace stepcast
