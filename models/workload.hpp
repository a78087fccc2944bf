#pragma once

#include <string>
#include <string_view>

#include "models/model.hpp"

namespace stepcast {

/// A model given as measured layers (design 6.2, `[workload]` and `[[layer]]`): times and sizes per
/// micro-batch, no operators. output_bytes becomes Layer::output_elements of the workload's precision, per
/// sample.
/// @param file  the name that places carry
/// @throws ScenarioError with all faults of the file at once
[[nodiscard]] Model read_workload(std::string_view text, const std::string& file);

}  // namespace stepcast
