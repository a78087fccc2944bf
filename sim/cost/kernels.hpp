#pragma once

#include <string>

#include "sim/cost/cost.hpp"
#include "sim/cost/gemm.hpp"

namespace stepcast {

/// A product as a kernel: max(tile model, moved / memory rate) + gemm_latency.
[[nodiscard]] Kernel gemm_kernel(const GpuProfile& gpu, std::string name, GemmUnits units, FlopPerSecond rate,
                                 const GemmShape& shape, Bytes moved, Flop flops);

/// `launches` equal kernels that move `moved` bytes together:
/// moved / (efficiency * memory rate) + launches * memory_latency. With no launch of its own (another
/// operator's kernel moves the bytes) the latency is left out.
[[nodiscard]] Kernel memory_kernel(const GpuProfile& gpu, std::string name, Bytes moved, int launches,
                                   double efficiency = 1);

/// Bytes of one activation in memory: products of fp8 read quantised copies, the activations themselves stay
/// bf16.
[[nodiscard]] constexpr double activation_size(Dtype compute) {
  return compute == Dtype::fp8 ? element_size(Dtype::bf16) : element_size(compute);
}

}  // namespace stepcast
