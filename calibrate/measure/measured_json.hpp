#pragma once

#include <string>

#include "base/document.hpp"
#include "calibrate/measure/measurement.hpp"
#include "calibrate/measure/plan.hpp"

namespace stepcast {

/// One line of JSON without its newline; numbers are read back exactly.
[[nodiscard]] std::string to_json_line(const Measured& measured);
[[nodiscard]] std::string to_json_line(const PlannedMeasurement& planned);

/// @throws std::invalid_argument naming what is missing
[[nodiscard]] Measured measured_of(const Value& tree);
[[nodiscard]] PlannedMeasurement planned_of(const Value& tree);

}  // namespace stepcast
