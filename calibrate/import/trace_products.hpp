#pragma once

#include <vector>

#include "calibrate/import/trace_summary.hpp"

namespace stepcast {

/// The matrix products (aten::mm, aten::addmm) whose inputs' shapes the trace has, equal ones together,
/// longest first. Time: the kernels of class gemm that one call launches, split sums included.
[[nodiscard]] std::vector<ProductSeries> product_series(const TraceTimeline& timeline);

}  // namespace stepcast
