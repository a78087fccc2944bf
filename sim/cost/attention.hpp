#pragma once

#include <string>
#include <vector>

#include "models/model.hpp"
#include "sim/cost/cost.hpp"

namespace stepcast {

/// What a fused attention kernel costs ("flash", "flash3", "efficient").
///
///     time = max(flops / (peak * share * L / (L + half_length) * (min(d, 128) / 128)^head_exponent),  bytes
///     / rate)
///            + memory_latency
///     flops: forward_flops (causal counted halved) x samples; backward executes 2.5 times that
///     L = keys that a query sees at most; half_length or, under a causal mask, causal_half_length
///     bytes = q, k, v, output in the compute type, and fp32 statistics; backward reads and writes them twice
///     over
///
/// Source: form and values fitted on published FlashAttention-2/3 tables, docs/cost.md; 2.5 = five products
/// in backward (scores again, dV, dP, dQ, dK) against two in forward.
[[nodiscard]] Kernel fused_attention(const GpuProfile& gpu, const GpuProfile::Attention& figures,
                                     const Operator& op, Pass pass, int samples, Dtype compute);

/// Unfused attention: two batched products in forward, four in backward, over full (not halved) score
/// matrices, and the passes over the scores by the mask, softmax and dropout kernels:
///
///     bytes = passes * scores * element size,   scores = heads * queries * keys
///
/// @param rate      what products of this type reach
/// @param autocast  the softmax runs in fp32 between 16-bit products
[[nodiscard]] std::vector<Kernel> eager_attention(const GpuProfile& gpu, const SoftwareProfile& software,
                                                  const Operator& op, Pass pass, int samples, Dtype compute,
                                                  FlopPerSecond rate, bool autocast = false);

}  // namespace stepcast
