#include "sim/cost/gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace stepcast {

namespace {

// Slices that libraries really offer; between them the best neighbour is near enough.
constexpr std::array<int, 12> slice_counts{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

}  // namespace

GemmTiling best_tiling(const GpuProfile& gpu, GemmUnits units, FlopPerSecond rate, const GemmShape& shape) {
  if (!(shape.rows > 0) || shape.columns < 1 || shape.depth < 1 || shape.groups < 1) {
    throw std::invalid_argument("a matrix product needs positive dimensions");
  }
  if (!(rate.value > 0) || gpu.sms < 1 || gpu.tiles.empty()) {
    throw std::invalid_argument("a matrix product needs a positive rate, SMs and tiles");
  }
  const bool simt = units == GemmUnits::simt && !gpu.simt_tiles.empty();
  const double columns = static_cast<double>(shape.columns);
  const double depth = static_cast<double>(shape.depth);
  const double groups = static_cast<double>(shape.groups);
  const double sms = gpu.sms;

  GemmTiling best;
  bool found = false;
  for (const GpuProfile::Tile& tile : simt ? gpu.simt_tiles : gpu.tiles) {
    const double tiles = std::ceil(shape.rows / tile.rows) * std::ceil(columns / tile.columns) * groups;
    const double flops_per_depth = 2.0 * tile.rows * tile.columns;
    const FlopPerSecond per_sm(rate.value / sms * tile.efficiency);
    for (const int slices : slice_counts) {
      const bool split = slices > 1;
      if (split && gpu.split_k_depth <= 0) break;
      const double slice = split ? std::max(depth / slices, gpu.split_k_depth) : depth;
      GemmTiling candidate;
      candidate.blocks = tiles * slices;
      candidate.waves = std::ceil(candidate.blocks / sms);
      candidate.wave = Flop(flops_per_depth * slice) / per_sm;
      if (split) {
        candidate.reduce = Bytes(8.0 * slices * shape.rows * columns * groups) / gpu.memory_rate.value;
      }
      if (!found || candidate.compute_time() < best.compute_time()) best = candidate;
      found = true;
      // Once unsplit tiles fill the GPU several times over, slicing only adds the reduction.
      if (tiles > 8 * sms) break;
    }
  }
  return best;
}

Seconds gemm_time(const GpuProfile& gpu, GemmUnits units, FlopPerSecond rate, const GemmShape& shape,
                  Bytes moved) {
  const Seconds compute = best_tiling(gpu, units, rate, shape).compute_time();
  const Seconds memory = moved / gpu.memory_rate.value;
  return std::max(compute, memory) + gpu.gemm_latency.value;
}

}  // namespace stepcast
