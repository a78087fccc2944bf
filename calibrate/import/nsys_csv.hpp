#pragma once

#include <string>
#include <string_view>

#include "calibrate/import/trace_summary.hpp"

namespace stepcast {

/// A table of Nsight Systems (`nsys stats --format csv`), with or without the lines that nsys prints before
/// it: cuda_gpu_trace has every kernel and copy with its time, cuda_gpu_kern_sum sums by kernel (whose
/// `whole.duration` is then the sum of all times). No launches, steps or sizes of collectives.
/// @throws ScenarioError: neither table, cells that are no numbers (all at once), nothing in it
[[nodiscard]] TraceSummary summarise_nsys(std::string_view text, const std::string& file);

}  // namespace stepcast
