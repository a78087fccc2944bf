#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace stepcast {

enum class Pass { forward, backward };

/// Operands of a row-major product c = op(a) op(b): `nt` multiplies by a transposed b (forward of a linear
/// layer, y = x W^T), `nn` by b itself (input gradient, dx = dy W), `tn` a transposed a by b (weight
/// gradient, dW = dy^T x).
enum class GemmLayout { nt, nn, tn };
[[nodiscard]] std::string_view name_of(GemmLayout layout);

struct GemmPoint {
  double rows{}, columns{}, depth{};
  GemmLayout layout{};
  Seconds time;
};

struct AttentionPoint {
  int samples{}, heads{}, head_dim{}, length{};
  Seconds time;
};

/// Times of single operators that were measured on a device: [[gemm]], [[kernel]] and [[attention]] of
/// profile files (docs/profile.md).
struct OperatorTimes {
  using SizePoints = std::vector<std::pair<Bytes, Seconds>>;  ///< ascending in size
  std::map<Dtype, std::vector<GemmPoint>> gemm;
  /// By operation, pass and type of the activations; copy and adamw under forward and fp32.
  std::map<std::tuple<std::string, Pass, Dtype>, SizePoints> kernel;
  /// Forward and backward together, where one kernel does both: by operation and type.
  std::map<std::pair<std::string, Dtype>, SizePoints> both_passes;
  /// By attention kernel ("eager"), pass and type.
  std::map<std::tuple<std::string, Pass, Dtype>, std::vector<AttentionPoint>> attention;

  /// Points of the memory-bound operator of this name ("attention.post_norm" is a norm); nullptr without.
  [[nodiscard]] const SizePoints* find_kernel(std::string_view operator_name, Pass pass, Dtype compute) const;
  [[nodiscard]] const SizePoints* find_both_passes(std::string_view operator_name, Dtype compute) const;
};

/// A value known at some sizes: between them its logarithm is linear in ln(size), outside the nearest one
/// holds.
/// @param points  sorted by size, positive, not empty
[[nodiscard]] double interpolate_ratio(const std::vector<std::pair<Bytes, double>>& points, Bytes size);

/// A value known at scattered places (logarithms of dimensions): inverse-distance weighting of its logarithm,
///     ln r = sum(ln r_i / d_i^4) / sum(1 / d_i^4),   r_i where d_i = 0
/// The power lies above the number of dimensions, so that many far points do not outweigh a near one
/// (Shepard 1968).
struct ScatteredValue {
  std::array<double, 3> at{};
  double value{};
};
[[nodiscard]] double interpolate_scattered(const std::vector<ScatteredValue>& points,
                                           const std::array<double, 3>& at);

/// Measured over modelled time of a product: exactly that of a measured shape, between shapes interpolated
/// over the logarithms of rows, columns and depth; within the layout where it has points, else over all.
/// @param points  not empty
/// @param model  the cost model's time of a point's shape
[[nodiscard]] double gemm_ratio(const std::vector<GemmPoint>& points, GemmLayout layout,
                                const std::array<double, 3>& shape,
                                const std::function<Seconds(const GemmPoint&)>& model);

}  // namespace stepcast
