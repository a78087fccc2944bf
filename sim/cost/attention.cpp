#include "sim/cost/attention.hpp"

#include <algorithm>
#include <cmath>

#include "sim/cost/kernels.hpp"

namespace stepcast {

namespace {

double keys_seen(const AttentionWork& work) {
  const double keys = static_cast<double>(work.key_length);
  return work.window > 0 ? std::min(keys, static_cast<double>(work.window)) : keys;
}

}  // namespace

Kernel fused_attention(const GpuProfile& gpu, const GpuProfile::Attention& figures, const Operator& op,
                       Pass pass, int samples, Dtype compute) {
  const AttentionWork& work = op.attention;
  const bool forward = pass == Pass::forward;
  // No fused kernel multiplies in fp8 here: fp8 stacks keep attention in bf16.
  const Dtype type = effective_dtype(gpu, compute == Dtype::fp8 ? Dtype::bf16 : compute);
  const double length = keys_seen(work);
  const double half = work.causal ? figures.causal_half_length : figures.half_length;
  const double head = 0.5 * static_cast<double>(work.head_dim + work.value_dim);
  const double share = (forward ? figures.forward.value : figures.backward.value) * length / (length + half) *
                       std::pow(std::min(head, 128.0) / 128.0, figures.head_exponent);
  const Flop model_flops = samples * (forward ? forward_flops(op) : backward_flops(op));
  const Flop executed = (samples * (forward ? 1.0 : 2.5)) * forward_flops(op);

  const double queries = static_cast<double>(work.query_length * work.query_heads);
  const double keys = static_cast<double>(work.key_length * work.key_value_heads);
  const double tensors = queries * static_cast<double>(work.head_dim + work.value_dim) +
                         keys * static_cast<double>(work.head_dim + work.value_dim);
  const Bytes moved((forward ? 1 : 2) * samples * (tensors * activation_size(compute) + 4 * queries));

  Kernel kernel;
  kernel.name = op.name + (forward ? "" : ".backward");
  kernel.kind = KernelClass::attention;
  kernel.fixed = gpu.memory_latency.value;
  const Seconds computing = executed / (share * gpu.peak.at(type).value);
  const Seconds moving = moved / gpu.memory_rate.value;
  kernel.time = std::max(computing, moving) + kernel.fixed;
  kernel.blocks = std::ceil(static_cast<double>(work.query_length) / figures.query_block) *
                  static_cast<double>(work.query_heads) * samples;
  if (moving > computing) kernel.memory_share = moving / kernel.time;
  kernel.memory = moved;
  kernel.flops = model_flops;
  kernel.launch_bound = 2 * kernel.fixed > kernel.time;
  return kernel;
}

std::vector<Kernel> eager_attention(const GpuProfile& gpu, const SoftwareProfile& software,
                                    const Operator& op, Pass pass, int samples, Dtype compute,
                                    FlopPerSecond rate, bool autocast) {
  const AttentionWork& work = op.attention;
  const bool forward = pass == Pass::forward;
  const Dtype type = effective_dtype(gpu, compute);
  const GemmUnits units = type == Dtype::fp32 ? GemmUnits::simt : GemmUnits::tensor;
  const double size = activation_size(compute);
  const std::int64_t groups = work.query_heads * samples;
  const double queries = static_cast<double>(work.query_length);
  const double keys = static_cast<double>(work.key_length);
  const double scores = static_cast<double>(groups) * queries * keys;
  const Flop flops = samples * (forward ? forward_flops(op) : backward_flops(op));

  // (output rows, columns, depth) of each product; score matrices are counted in the passes, so only the thin
  // operands and results are moved here.
  struct Product {
    const char* name;
    double rows;
    std::int64_t columns, depth;
  };
  std::vector<Product> products;
  if (forward) {
    products = {{".scores", queries, work.key_length, work.head_dim},
                {".values", queries, work.value_dim, work.key_length}};
  } else {
    products = {{".scores.dgrad", queries, work.key_length, work.value_dim},
                {".values.dgrad", keys, work.value_dim, work.query_length},
                {".query.dgrad", queries, work.head_dim, work.key_length},
                {".key.dgrad", keys, work.head_dim, work.query_length}};
  }
  std::vector<Kernel> kernels;
  for (const Product& product : products) {
    const double width = static_cast<double>(std::min(product.columns, product.depth));
    const Bytes moved(size * static_cast<double>(groups) * (queries + keys) * width);
    kernels.push_back(gemm_kernel(gpu, op.name + product.name, units, rate,
                                  {product.rows, product.columns, product.depth, groups}, moved,
                                  flops / static_cast<double>(products.size())));
    kernels.back().kind = KernelClass::attention;
  }
  const SoftwareProfile::EagerAttention& eager = software.eager_attention;
  double passes = forward ? eager.forward_passes.value + (work.causal ? eager.mask_passes.value : 0)
                          : eager.backward_passes.value;
  passes += work.dropout_masks * eager.dropout_passes.value;
  if (autocast) passes += eager.autocast_passes.value;
  // Each kernel between the products reads the scores and writes them: two passes a launch.
  const int launches = std::max(1, static_cast<int>(std::lround(passes / 2)));
  kernels.push_back(memory_kernel(gpu, op.name + (forward ? ".softmax" : ".softmax.backward"),
                                  Bytes(passes * size * scores), launches));
  kernels.back().kind = KernelClass::attention;
  return kernels;
}

}  // namespace stepcast
