#pragma once

#include "models/model.hpp"
#include "sim/cost/cost.hpp"
#include "sim/cost/gemm.hpp"

namespace stepcast {

/// Adds to `work` what a linear layer, a batched product or a grouped product of experts costs in one pass:
/// casts of autocast weights, fp8 quantisation, the products, and what carries weight gradients to their
/// type.
///
///     forward   (rows x depth)(depth x columns)
///     backward  input gradient (rows x columns)(columns x depth); weight gradient (columns x rows)(rows x
///     depth) bytes of a product = both operands and the result, once
///
/// A weight gradient whose type is wider than the compute type costs a cast (read one, write the other); with
/// options.accumulate an addition (read two, write one) on top. Software that fuses accumulation pays
/// neither: its product reads and writes the gradient in its own type.
void add_gemm(const GpuProfile& gpu, const SoftwareProfile& software, const Operator& op, Pass pass,
              int samples, const CostOptions& options, Work& work);

/// Convolutions as implicit products (rows = output pixels, depth = in_channels / groups * kernel^2), with
/// the convolution ceiling; bytes are input, output and weights, not the unfolded input.
void add_convolution(const GpuProfile& gpu, const SoftwareProfile& software, const Operator& op, Pass pass,
                     int samples, const CostOptions& options, Work& work);

/// Peak x GEMM ceiling of the units that compute `type` on this GPU; `aligned` false applies
/// misaligned_efficiency.
[[nodiscard]] FlopPerSecond gemm_rate(const GpuProfile& gpu, Dtype type, bool aligned);
[[nodiscard]] GemmUnits gemm_units(const GpuProfile& gpu, Dtype type);
/// True when rows of the operands start at multiples of 16 bytes, which tensor-core loads want: columns and
/// depth are multiples of 16 bytes. (Rows, usually tokens, are never the contiguous dimension.)
[[nodiscard]] bool is_aligned(std::int64_t columns, std::int64_t depth, Dtype type);

}  // namespace stepcast
