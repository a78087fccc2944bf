#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace stepcast {

/// Swept keys of which the points show more than one value, in the order of the sweep.
[[nodiscard]] std::vector<std::string> varying_keys(const Report& report);
/// The value of a key in a point's settings as text; "" when it has none.
[[nodiscard]] std::string setting_text(const PointReport& point, const std::string& key);
/// What tells a point from the others: "4 nodes, infiniband-400g, fsdp, gradient accumulation steps 16".
[[nodiscard]] std::string label(const Report& report, const PointReport& point);

/// Tokens per second, else samples per second.
[[nodiscard]] double throughput(const PointReport& point);
[[nodiscard]] std::string print_throughput(const PointReport& point);          // "263 k tokens/s"
[[nodiscard]] std::string plural(std::size_t count, const std::string& word);  // "1 point", "2 points"
[[nodiscard]] std::string print_times(double ratio);                           // "3.92x"
[[nodiscard]] std::string words_of(const std::string& key);  // "training.bucket_size" -> "bucket size"
[[nodiscard]] bool is_plain_word(
    const std::string& text);  ///< speaks for itself: no number, no true or false

}  // namespace stepcast
