#pragma once

#include <string>
#include <vector>

#include "calibrate/import/trace_summary.hpp"

namespace stepcast {

/// Tables for people.
[[nodiscard]] std::string to_text(const TraceSummary& summary);

/// `{"schema": "stepcast.trace/1", "traces": [...]}`; fields: docs/import.md.
[[nodiscard]] std::string to_json(const std::vector<TraceSummary>& summaries);

}  // namespace stepcast
