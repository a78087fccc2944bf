#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/plan.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// What the points of a scenario are made of: the products and attention of its models at its batch sizes,
/// and the sizes of its collectives, which are measured on all ranks of `place`, however many the scenario
/// has. Each once. Products of experts and of convolutions, and what a measured workload computes, are no
/// measurements and left out. Types that the device has not are computed in fp32.
/// @throws ScenarioError
[[nodiscard]] std::vector<Measurement> scenario_needs(const ScenarioFile& file, const DeviceFacts& device,
                                                      const RankPlace& place);

}  // namespace stepcast
