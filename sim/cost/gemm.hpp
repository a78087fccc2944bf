#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "sim/cost/profile.hpp"

namespace stepcast {

/// (rows x depth) (depth x columns), `groups` independent ones in one launch.
struct GemmShape {
  double rows{};
  std::int64_t columns{}, depth{}, groups{1};
};

/// Which units compute: tensor cores, or the ordinary ones that fp32 products run on.
enum class GemmUnits { tensor, simt };

/// The fastest way that the tile model finds for one product.
struct GemmTiling {
  double blocks{};  ///< thread blocks, slices along the depth included
  double waves{};   ///< ceil(blocks / SMs)
  Seconds wave;     ///< time in which every SM computes one block
  Seconds reduce;   ///< adding up the slices of a split depth; 0 without one

  [[nodiscard]] Seconds compute_time() const { return waves * wave + reduce; }
};

/// Tile and wave quantization of a matrix product on a GPU:
///
///     blocks = ceil(rows / Tm) ceil(columns / Tn) groups slices
///     wave   = 2 Tm Tn max(depth / slices, split_k_depth) / (rate / SMs * tile efficiency)
///     time   = ceil(blocks / SMs) wave + reduce,    least over the profile's tiles and 1 .. 64 slices
///     reduce = slices > 1:  8 bytes * slices rows columns groups / memory rate   (fp32 partial sums, written
///     and read)
///
/// Never falls when rows, columns or depth grow: every term of every candidate is non-decreasing in each of
/// them.
/// @param rate  what the whole GPU reaches on its best shape: peak x ceiling
/// @throws std::invalid_argument when a dimension or the rate is not positive
/// Source: NVIDIA, "Matrix Multiplication Background User's Guide" (tile and wave quantization); residuals in
/// docs/cost.md. Left out: stream-K and persistent kernels, which soften the staircase; L2 reuse.
[[nodiscard]] GemmTiling best_tiling(const GpuProfile& gpu, GemmUnits units, FlopPerSecond rate,
                                     const GemmShape& shape);

/// max(compute, moved / memory rate) + gemm_latency.
[[nodiscard]] Seconds gemm_time(const GpuProfile& gpu, GemmUnits units, FlopPerSecond rate,
                                const GemmShape& shape, Bytes moved);

}  // namespace stepcast
