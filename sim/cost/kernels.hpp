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

/// The kernel takes `ratio` times as long, in all its parts.
void stretch(Kernel& kernel, double ratio);

/// Sets the time of `kernel`, which memory_kernel made with `efficiency`, from measured points: at a measured
/// size of what `launches` of it move, exactly the measured time of as many; between sizes the model's time
/// by measured / model.
/// @param launches  that one measurement stands for: all of an operator's, one of copies and optimizers
void use_measured(const GpuProfile& gpu, const OperatorTimes::SizePoints& points, int launches,
                  double efficiency, Kernel& kernel);

/// A copy, cast or addition beside the operators, as copy_work: measured copies hold where there are any.
[[nodiscard]] Kernel copy_kernel(const GpuProfile& gpu, std::string name, Bytes moved, int launches);

/// Bytes of one activation in memory: products of fp8 read quantised copies, the activations themselves stay
/// bf16.
[[nodiscard]] constexpr double activation_size(Dtype compute) {
  return compute == Dtype::fp8 ? element_size(Dtype::bf16) : element_size(compute);
}

}  // namespace stepcast
