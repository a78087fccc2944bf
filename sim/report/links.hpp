#pragma once

#include <vector>

#include "sim/report/breakdown.hpp"
#include "topology/cluster.hpp"

namespace stepcast {

/// One row per class of link (its kind and what it joins): the busiest representative, the lowest link of
/// equals. utilization = bytes carried in a step / (capacity offered to collectives * step time); busy = time
/// in which at least one collective moves over it. Classes that carry nothing are not listed.
[[nodiscard]] std::vector<LinkRow> link_rows(const Program& program, const Timeline& timeline,
                                             const Cluster& cluster);

}  // namespace stepcast
