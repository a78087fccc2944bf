#pragma once

#include <string>

#include "base/units.hpp"

namespace stepcast {

/// The only printers of figures for people; CLI, GUI and reports agree because they all call these.
/// Three significant digits, so that no compiler flips a golden file.
[[nodiscard]] std::string print_time(Seconds time);         // "1.23 ms"
[[nodiscard]] std::string print_size(Bytes size);           // "72.5 GiB"
[[nodiscard]] std::string print_rate(BytesPerSecond rate);  // "48.5 GB/s"
[[nodiscard]] std::string print_share(double share);        // 0.934 -> "93.4 %"
[[nodiscard]] std::string print_count(double count);        // 1234567 -> "1.23 M"
[[nodiscard]] std::string print_integer(double count);      // 1234567.8 -> "1,234,568"

}  // namespace stepcast
