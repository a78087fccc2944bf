#include "sim/cost/operator_times.hpp"

#include <algorithm>
#include <cmath>

#include "base/diagnostic.hpp"

namespace stepcast {

namespace {

/// Whether `operation` is the last word of the name; an embedding's look-ups are named after their tables.
bool stands_for(std::string_view operation, std::string_view name) {
  if (operation == "embedding") {
    return name == "embedding.tokens" || name == "embedding.targets" || name == "embedding.positions";
  }
  if (!name.ends_with(operation)) return false;
  name.remove_suffix(operation.size());
  return name.empty() || name.back() == '.' || name.back() == '_';
}

/// The type that a memory-bound operator's tensors have in memory.
Dtype stored_type(Dtype compute) {
  if (compute == Dtype::tf32) return Dtype::fp32;
  return compute == Dtype::fp8 ? Dtype::bf16 : compute;
}

}  // namespace

std::string_view name_of(GemmLayout layout) {
  switch (layout) {
    case GemmLayout::nt:
      return "nt";
    case GemmLayout::nn:
      return "nn";
    case GemmLayout::tn:
      return "tn";
  }
  return "nt";
}

const OperatorTimes::SizePoints* OperatorTimes::find_kernel(std::string_view operator_name, Pass pass,
                                                            Dtype compute) const {
  for (const auto& [key, points] : kernel) {
    const auto& [operation, of_pass, type] = key;
    if (of_pass == pass && type == stored_type(compute) && stands_for(operation, operator_name))
      return &points;
  }
  return nullptr;
}

const OperatorTimes::SizePoints* OperatorTimes::find_both_passes(std::string_view operator_name,
                                                                 Dtype compute) const {
  for (const auto& [key, points] : both_passes)
    if (key.second == stored_type(compute) && stands_for(key.first, operator_name)) return &points;
  return nullptr;
}

double interpolate_ratio(const std::vector<std::pair<Bytes, double>>& points, Bytes size) {
  STEPCAST_CHECK(!points.empty(), "no measured points");
  const auto above = std::lower_bound(points.begin(), points.end(), size,
                                      [](const auto& point, Bytes wanted) { return point.first < wanted; });
  if (above == points.end()) return points.back().second;
  if (above->first == size || above == points.begin()) return above->second;
  const auto below = above - 1;
  const double position = std::log(size / below->first) / std::log(above->first / below->first);
  return below->second * std::pow(above->second / below->second, position);
}

double interpolate_scattered(const std::vector<ScatteredValue>& points, const std::array<double, 3>& at) {
  STEPCAST_CHECK(!points.empty(), "no measured points");
  double weights = 0, sum = 0;
  for (const ScatteredValue& point : points) {
    double square = 0;
    for (std::size_t i = 0; i < at.size(); ++i) square += (point.at[i] - at[i]) * (point.at[i] - at[i]);
    if (square == 0) return point.value;
    const double weight = 1 / (square * square);
    weights += weight;
    sum += weight * std::log(point.value);
  }
  return std::exp(sum / weights);
}

double gemm_ratio(const std::vector<GemmPoint>& points, GemmLayout layout, const std::array<double, 3>& shape,
                  const std::function<Seconds(const GemmPoint&)>& model) {
  const bool same_layout = std::any_of(points.begin(), points.end(),
                                       [&](const GemmPoint& point) { return point.layout == layout; });
  std::vector<ScatteredValue> ratios;
  for (const GemmPoint& point : points) {
    if (same_layout && point.layout != layout) continue;
    ratios.push_back(
        {{std::log(point.rows), std::log(point.columns), std::log(point.depth)}, point.time / model(point)});
  }
  return interpolate_scattered(ratios, {std::log(shape[0]), std::log(shape[1]), std::log(shape[2])});
}

}  // namespace stepcast
