#pragma once

#include <string>

#include "calibrate/measure/measurement.hpp"

namespace stepcast {

/// The profile file (docs/profile.md) of a calibration: figures from the fits (fit.hpp), every measured
/// point, and the fits themselves. Same set, same text. load_profile reads it back without a note for the
/// set's device and node and the software stepcast-trainer.
[[nodiscard]] std::string profile_toml(const MeasuredSet& set);

}  // namespace stepcast
