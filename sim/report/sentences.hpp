#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace stepcast {

/// Swept keys of which the points show more than one value, in the order of the sweep.
[[nodiscard]] std::vector<std::string> varying_keys(const Report& report);

/// The value of a key in a point's settings as text; "" when it has none.
[[nodiscard]] std::string setting_text(const PointReport& point, const std::string& key);

/// The point of highest throughput among those that fit (tokens per second, else samples per second; the
/// first of equals); nothing when none fits.
[[nodiscard]] std::optional<std::size_t> best_point(const Report& report);

/// What the table means, in plain words: one sentence or two an entry.
[[nodiscard]] std::vector<std::string> sentences(const Report& report);

/// Warnings of the points, each once, without those that the sentences already say.
[[nodiscard]] std::vector<std::string> notes(const Report& report);

}  // namespace stepcast
