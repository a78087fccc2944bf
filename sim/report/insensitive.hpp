#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace stepcast {

/// A swept key that does not matter here.
struct InsensitiveKey {
  std::string key;
  double largest_change{};  ///< of the step time between any two values, all else equal: max / min - 1
  std::string
      reason;  ///< "not used by fsdp", "hidden under backward", "one node has no use of the network", ...
};

/// Swept keys whose values, all other settings equal, move the step time by less than 0.1 % everywhere.
[[nodiscard]] std::vector<InsensitiveKey> insensitive_keys(const Report& report);

}  // namespace stepcast
