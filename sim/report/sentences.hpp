#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace stepcast {

/// The point of highest throughput among those that fit (tokens per second, else samples per second; the
/// first of equals); nothing when none fits.
[[nodiscard]] std::optional<std::size_t> best_point(const Report& report);

/// What the table means, in plain words: one sentence or two an entry.
[[nodiscard]] std::vector<std::string> sentences(const Report& report);

/// Warnings of the points, each once, without those that the sentences already say.
[[nodiscard]] std::vector<std::string> notes(const Report& report);

}  // namespace stepcast
