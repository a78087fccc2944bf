#pragma once

#include <string>

#include "calibrate/import/timeline.hpp"

namespace stepcast {

/// A trace as commands read it: with progress on stderr, and SIGINT ends it (Interrupted).
[[nodiscard]] TraceTimeline read_trace_file(const std::string& file);

}  // namespace stepcast
