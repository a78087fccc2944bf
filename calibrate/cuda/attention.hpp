#pragma once

#include <driver_types.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "calibrate/device.hpp"

namespace stepcast {

/// What attention is put together from, besides kernels on `stream`.
struct AttentionTools {
  std::function<void(const GemmCall&)> gemm;
  std::function<std::shared_ptr<void>(std::int64_t bytes)> scratch;  ///< memory for the time of a call
  cudaStream_t stream{};
};

/// Attention as "eager" frameworks run it: heads are rearranged so that products can be batched, scores are
/// multiplied out, and their softmax is kept in `saved` (samples x heads x length x length).
void run_attention_forward(const AttentionCall& call, const AttentionTools& tools);
void run_attention_backward(const AttentionCall& call, Tensor output_gradient, Tensor qkv_gradient,
                            const AttentionTools& tools);

}  // namespace stepcast
