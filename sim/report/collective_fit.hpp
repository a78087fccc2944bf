#pragma once

#include <utility>
#include <vector>

#include "sim/collective/collective.hpp"
#include "sim/cost/profile.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// Measured times by size, ascending, each size once.
using MeasuredTimes = std::vector<std::pair<Bytes, Seconds>>;

/// The five sizes by which a sweep corrects the model: the nearest (by ratio) to 1 KiB, 64 KiB, 1 MiB, 16 MiB
/// and 1 GiB where the sweep spans 4 KiB to 256 MiB, else five from its first to its last, evenly apart in
/// ln(size). All of them where there are five or fewer. Source of the sizes: docs/collectives.md.
[[nodiscard]] MeasuredTimes five_sizes(const MeasuredTimes& times);

/// The points as a profile's measured collective of this cluster, which `CollectiveModel` interpolates
/// between.
[[nodiscard]] MeasuredCollective as_measured(const Scenario& scenario, Operation operation,
                                             MeasuredTimes points);

}  // namespace stepcast
