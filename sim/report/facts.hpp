#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/model.hpp"
#include "sim/cost/profile.hpp"
#include "sim/report/network.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

using NamedText = std::vector<std::pair<std::string, std::string>>;

/// How good the origin of each group of figures is: gemm, attention, memory, nvlink, network, software, in
/// this order;
/// "" where the point does not use it (no network on one node, no attention in a network of convolutions).
[[nodiscard]] NamedText origins_of(const Scenario& scenario, const Model& model, const Profile& profile,
                                   const NetworkUse& network);

/// parameter_dtype, gradient_dtype, reduce_dtype, optimizer_dtype, precision.
[[nodiscard]] NamedText dtypes_of(const TrainingSection& training);

/// TCP as NCCL comes, whose few sockets carry less than the line.
[[nodiscard]] bool sockets_limit(const Scenario& scenario);

/// Notes of the scenario and the profile, a precision that the GPU has no units for or that a workload was
/// not measured in, what does not fit and by how much, and what a TCP fabric assumes.
[[nodiscard]] std::vector<std::string> warnings_of(const Scenario& scenario, const Model& model,
                                                   const Profile& profile, const PointReport& point);

}  // namespace stepcast
