#include "calibrate/import/trace_products.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace stepcast {
namespace {

using Extents = std::vector<std::int64_t>;

/// 'n' for a matrix that lies row by row, 't' for one that lies column by column, 0 where both or neither may
/// be.
char order_of(const Extents& dims, const Extents& strides) {
  if (strides.size() != 2) return 0;
  if (dims[0] == 1 || dims[1] == 1) return 0;
  if (strides[1] == 1) return 'n';
  return strides[0] == 1 ? 't' : '\0';
}

/// Type in which the product was computed; nothing for those that profiles do not know.
std::optional<Dtype> dtype_of(const std::string& type, const std::string& kernel) {
  if (type == "c10::BFloat16") return Dtype::bf16;
  if (type == "c10::Half") return Dtype::fp16;
  if (type.find("Float8") != std::string::npos) return Dtype::fp8;
  if (type != "float") return std::nullopt;
  // fp32 operands on tensor cores are TF32.
  const bool tensor_cores =
      kernel.find("tensorop") != std::string::npos || kernel.find("tf32") != std::string::npos;
  return tensor_cores ? Dtype::tf32 : Dtype::fp32;
}

struct Call {
  std::int64_t time{}, longest{};
  std::int32_t kernel{-1};  ///< the longest one's name
};

}  // namespace

std::vector<ProductSeries> product_series(const TraceTimeline& timeline) {
  std::map<const TimedSpan*, Call> calls;  // by call of an operator
  for (const TimedKernel& kernel : timeline.kernels) {
    if (kernel.kind != KernelClass::gemm) continue;
    const TimedLaunch* launch = timeline.launch_of(kernel);
    if (launch == nullptr) continue;
    const TimedSpan* product = timeline.products.around(launch->thread, launch->start);
    if (product == nullptr) continue;
    Call& call = calls[product];
    call.time += kernel.end - kernel.start;
    if (kernel.end - kernel.start > call.longest) {
      call.longest = kernel.end - kernel.start;
      call.kernel = kernel.name;
    }
  }
  using Key = std::tuple<Dtype, std::int64_t, std::int64_t, std::int64_t, std::string>;
  std::map<Key, std::vector<std::int64_t>> shapes;
  for (const auto& [span, call] : calls) {
    const ShapedOperator& op = timeline.operators[static_cast<std::size_t>(span->detail)];
    const std::size_t first = op.name == "aten::addmm" ? 1 : 0;
    if (op.dims.size() < first + 2 || op.types.size() < first + 2) continue;
    const Extents &a = op.dims[first], &b = op.dims[first + 1];
    if (a.size() != 2 || b.size() != 2 || a[1] != b[0] || a[0] < 1 || a[1] < 1 || b[1] < 1) continue;
    const std::string& kernel = timeline.names[static_cast<std::size_t>(call.kernel)];
    const auto dtype = dtype_of(op.types[first], kernel);
    if (!dtype) continue;
    std::string layout;
    if (op.strides.size() >= first + 2) {
      const char order_a = order_of(a, op.strides[first]), order_b = order_of(b, op.strides[first + 1]);
      if (order_a != 0 && order_b != 0) layout = std::string{order_a, order_b};
    }
    if (layout.empty()) layout = row_major_layout(kernel);
    shapes[{*dtype, a[0], b[1], a[1], layout}].push_back(call.time);
  }
  std::vector<ProductSeries> all;
  for (auto& [key, times] : shapes) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    const auto& [dtype, rows, columns, depth, layout] = key;
    all.push_back({dtype, rows, columns, depth, layout, static_cast<std::int64_t>(times.size()),
                   Seconds(static_cast<double>(*middle) * 1e-9)});
  }
  const auto total = [](const ProductSeries& one) { return one.median * static_cast<double>(one.calls); };
  std::stable_sort(all.begin(), all.end(),
                   [&](const ProductSeries& a, const ProductSeries& b) { return total(a) > total(b); });
  return all;
}

}  // namespace stepcast
