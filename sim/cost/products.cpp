#include "sim/cost/products.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/cost/kernels.hpp"

namespace stepcast {

namespace {

void add_memory(const GpuProfile& gpu, const std::string& name, double bytes, Work& work) {
  work.kernels.push_back(copy_kernel(gpu, name, Bytes(bytes), 1));
}

/// Casts of fp32 weights to a 16-bit compute type (autocast), each pass reading one and writing the other.
void add_weight_cast(const GpuProfile& gpu, const SoftwareProfile& software, const std::string& name,
                     double weights, const CostOptions& options, Work& work) {
  const double stored = element_size(options.parameters);
  const double computed = activation_size(options.compute);
  if (stored <= computed || software.autocast_casts <= 0) return;
  add_memory(gpu, name + ".cast", software.autocast_casts * weights * (stored + computed), work);
}

/// Bytes with which the weight-gradient product writes its result.
double gradient_result_bytes(const SoftwareProfile& software, double weights, const CostOptions& options) {
  if (software.fused_gradient_accumulation) return 2 * weights * element_size(options.gradients);
  return weights * activation_size(options.compute);
}

/// What follows the weight-gradient product where the software does not fuse it.
void add_gradient_kernels(const GpuProfile& gpu, const SoftwareProfile& software, const std::string& name,
                          double weights, const CostOptions& options, Work& work) {
  if (software.fused_gradient_accumulation) return;
  const double computed = activation_size(options.compute);
  const double kept = element_size(options.gradients);
  if (kept > computed) add_memory(gpu, name + ".wgrad.cast", weights * (computed + kept), work);
  if (options.accumulate) add_memory(gpu, name + ".wgrad.accumulate", weights * 3 * kept, work);
}

}  // namespace

GemmUnits gemm_units(const GpuProfile& gpu, Dtype type) {
  return effective_dtype(gpu, type) == Dtype::fp32 ? GemmUnits::simt : GemmUnits::tensor;
}

FlopPerSecond gemm_rate(const GpuProfile& gpu, Dtype type, bool aligned) {
  const Dtype units = effective_dtype(gpu, type);
  double share = gpu.gemm_ceiling.at(units).value;
  if (!aligned && units != Dtype::fp32) share *= gpu.misaligned_efficiency.value;
  return share * gpu.peak.at(units).value;
}

bool is_aligned(std::int64_t columns, std::int64_t depth, Dtype type) {
  const auto step = static_cast<std::int64_t>(16 / element_size(type));
  return columns % step == 0 && depth % step == 0;
}

void add_gemm(const GpuProfile& gpu, const SoftwareProfile& software, const Operator& op, Pass pass,
              int samples, const CostOptions& options, Work& work) {
  const GemmWork& gemm = op.gemm;
  const Dtype type = effective_dtype(gpu, options.compute);
  const GemmUnits units = gemm_units(gpu, type);
  const double rows = gemm.rows * samples;
  const double groups = static_cast<double>(gemm.groups);
  const bool quantised = type == Dtype::fp8;
  // What an operand takes: a GPU that computes bf16 in fp32 units still moves 2 bytes.
  const double operand = quantised ? element_size(Dtype::fp8) : activation_size(options.compute);
  const double result = activation_size(options.compute);
  const double weights = groups * static_cast<double>(gemm.depth * gemm.columns);
  const Flop flops = samples * forward_flops(op);

  // One of the three products, of any shape, so that measured shapes are modelled alike.
  const auto product = [&](const std::string& name, GemmLayout layout, const GemmShape& shape) {
    const double columns = static_cast<double>(shape.columns), depth = static_cast<double>(shape.depth);
    const double read = static_cast<double>(shape.groups) * depth * (shape.rows + columns);
    const double made = static_cast<double>(shape.groups) * shape.rows * columns;
    // The features, which are contiguous, are rows and columns of a weight gradient, columns and depth else.
    const bool weight_gradient = layout == GemmLayout::tn;
    const bool aligned =
        is_aligned(weight_gradient ? std::llround(shape.rows) : shape.depth, shape.columns, type);
    const double written =
        weight_gradient && gemm.has_weight ? gradient_result_bytes(software, made, options) : result * made;
    return gemm_kernel(gpu, name, units, gemm_rate(gpu, type, aligned), shape,
                       Bytes(operand * read + written), flops);
  };
  const auto add = [&](const std::string& name, GemmLayout layout, const GemmShape& shape) {
    Kernel kernel = product(name, layout, shape);
    const auto measured = gpu.measured.gemm.find(type);
    if (measured != gpu.measured.gemm.end()) {
      const auto model = [&](const GemmPoint& point) {
        return product("", point.layout,
                       {point.rows, std::llround(point.columns), std::llround(point.depth), 1})
            .time;
      };
      stretch(kernel,
              gemm_ratio(measured->second, layout,
                         {shape.rows, static_cast<double>(shape.columns), static_cast<double>(shape.depth)},
                         model));
    }
    work.kernels.push_back(std::move(kernel));
  };

  if (pass == Pass::forward) {
    const double inputs = groups * rows * static_cast<double>(gemm.depth);
    if (gemm.has_weight) add_weight_cast(gpu, software, op.name, weights, options, work);
    if (quantised)
      add_memory(gpu, op.name + ".quantise", software.quantise_bytes.value * (inputs + weights), work);
    add(op.name, GemmLayout::nt, {rows, gemm.columns, gemm.depth, gemm.groups});
    return;
  }
  if (quantised) {
    const double outputs = groups * rows * static_cast<double>(gemm.columns);
    add_memory(gpu, op.name + ".dgrad.quantise", software.quantise_bytes.value * outputs, work);
  }
  if (gemm.input_gradient)
    add(op.name + ".dgrad", GemmLayout::nn, {rows, gemm.depth, gemm.columns, gemm.groups});
  // The contraction runs over rows, which routing may leave fractional.
  const auto contracted = std::max<std::int64_t>(1, std::llround(rows));
  add(op.name + ".wgrad", GemmLayout::tn,
      {static_cast<double>(gemm.columns), gemm.depth, contracted, gemm.groups});
  if (gemm.has_weight) add_gradient_kernels(gpu, software, op.name, weights, options, work);
}

void add_convolution(const GpuProfile& gpu, const SoftwareProfile& software, const Operator& op, Pass pass,
                     int samples, const CostOptions& options, Work& work) {
  const ConvolutionWork& shape = op.convolution;
  // No training stack convolves in fp8.
  const Dtype type = effective_dtype(gpu, options.compute == Dtype::fp8 ? Dtype::bf16 : options.compute);
  const GemmUnits units = gemm_units(gpu, type);
  const FlopPerSecond rate = gpu.convolution_ceiling.at(type).value * gpu.peak.at(type).value;
  const double size = activation_size(options.compute);
  const double batch = samples;
  const std::int64_t in_channels = shape.in_channels / shape.groups;
  const std::int64_t out_channels = shape.out_channels / shape.groups;
  const std::int64_t window = shape.kernel * shape.kernel;
  const double in_pixels = batch * static_cast<double>(shape.in_height * shape.in_width);
  const double out_pixels = batch * static_cast<double>(shape.out_height * shape.out_width);
  const double inputs = in_pixels * static_cast<double>(shape.in_channels);
  const double outputs = out_pixels * static_cast<double>(shape.out_channels);
  const double weights = static_cast<double>(shape.groups * in_channels * window * out_channels);
  const Flop flops = samples * forward_flops(op);

  if (pass == Pass::forward) {
    add_weight_cast(gpu, software, op.name, weights, options, work);
    work.kernels.push_back(gemm_kernel(gpu, op.name, units, rate,
                                       {out_pixels, out_channels, in_channels * window, shape.groups},
                                       Bytes(size * (inputs + weights + outputs)), flops));
    return;
  }
  if (shape.input_gradient) {
    // Every input pixel gathers from the window's outputs, of which a stride leaves one in stride^2.
    const std::int64_t depth =
        std::max<std::int64_t>(1, out_channels * window / (shape.stride * shape.stride));
    work.kernels.push_back(gemm_kernel(gpu, op.name + ".dgrad", units, rate,
                                       {in_pixels, in_channels, depth, shape.groups},
                                       Bytes(size * (outputs + weights + inputs)), flops));
  }
  const double gradient_bytes = gradient_result_bytes(software, weights, options);
  work.kernels.push_back(gemm_kernel(gpu, op.name + ".wgrad", units, rate,
                                     {static_cast<double>(out_channels), in_channels * window,
                                      std::max<std::int64_t>(1, std::llround(out_pixels)), shape.groups},
                                     Bytes(size * (inputs + outputs) + gradient_bytes), flops));
  add_gradient_kernels(gpu, software, op.name, weights, options, work);
}

}  // namespace stepcast
