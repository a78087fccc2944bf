#pragma once

#include <span>
#include <vector>

#include "sim/engine/program.hpp"

namespace stepcast {

/// An activity in the fluid model: rate x puts load.weight * x on each of its resources and may not pass
/// `ceiling`.
struct Demand {
  std::span<const Load> loads;
  double ceiling{};
};

/// Weighted max-min fair rates by progressive filling. Each activity's level is its rate divided by its rate
/// when it is alone (min over its resources of capacity / weight, and its ceiling), so that equal flows share
/// equally and a light user of a link is not held to a heavy one's pace. On return no resource carries more
/// than its capacity (1e-9), and every activity is at its ceiling or crosses a saturated resource on which no
/// activity has a higher level (the max-min certificate).
void fair_share(std::span<const Resource> resources, std::span<const Demand> demands,
                std::vector<double>& rates);

}  // namespace stepcast
