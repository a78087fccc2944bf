#pragma once

#include <string>

#include "base/units.hpp"
#include "calibrate/fit/fit.hpp"

namespace stepcast::toml {

/// Numbers and quantities as a profile holds them: in a unit that a person reads, with eleven digits, so that
/// what is read back is what was measured.
[[nodiscard]] std::string number(double value);
[[nodiscard]] std::string text(const std::string& content);  ///< quoted, with escapes
[[nodiscard]] std::string time(Seconds value);  ///< "\"12.5 us\"", quotes included; likewise below
[[nodiscard]] std::string size(Bytes value);
[[nodiscard]] std::string rate(BytesPerSecond value);
[[nodiscard]] std::string line_rate(BytesPerSecond value);  ///< in bits
[[nodiscard]] std::string flops(FlopPerSecond value);
[[nodiscard]] std::string parameter(FitParameter::Unit unit, double value);

}  // namespace stepcast::toml
