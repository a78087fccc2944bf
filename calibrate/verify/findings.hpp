#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/verify/diagnosis.hpp"
#include "sim/collective/collective.hpp"

namespace stepcast {

/// "2 x 8 GPUs of hgx-h100, infiniband-400g".
[[nodiscard]] std::string hardware_of(const Scenario& scenario);

/// The scenario without its own profiles, which would make what is measured the measure of itself; a note
/// says so.
void leave_profiles_aside(Scenario& scenario, std::vector<std::string>& notes);

/// A finding when the median performance of the figures is below `faulty`.
[[nodiscard]] std::optional<Finding> finding_of(const std::string& what, std::vector<ComparedFigure> figures);

/// Tables of one operation on all GPUs of the scenario, divided into bands of sizes: figures and findings.
/// @param sizes, times  ascending sizes and what they took
void compare_collective_times(Diagnosis& diagnosis, const Scenario& scenario, Operation operation,
                              const std::vector<std::pair<Bytes, Seconds>>& times, const Testimony& said);

}  // namespace stepcast
