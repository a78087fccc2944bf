#pragma once

#include <cstdint>
#include <vector>

namespace stepcast {

/// Shapes and pointers of one attention call; see AttentionCall. `scores` holds length x length floats.
struct AttentionArguments {
  std::int64_t samples, length, heads, head_dim;
  bool causal;
  const float* qkv;
  float* saved;  ///< probabilities: samples x heads x length x length
};

/// AdamW's settings of one step, with bias correction folded in.
struct AdamWArguments {
  float keep;       ///< 1 - learning rate x weight decay
  float step_size;  ///< learning rate / (1 - beta1^t)
  float beta1, beta2;
  float root_correction;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon;
};

/// The kernels of one instruction set. Matrices are row-major; see ComputeDevice for what each computes.
/// They are compiled once for each set, so that a binary runs on any machine of its architecture and yet uses
/// the widest registers at hand.
struct HostKernels {
  const char* instruction_set;
  void (*gemm)(const float* a, bool transpose_a, const float* b, bool transpose_b, float* c, bool accumulate,
               std::int64_t rows, std::int64_t columns, std::int64_t depth);
  void (*bias_forward)(float* y, const float* bias, std::int64_t rows, std::int64_t columns);
  void (*bias_backward)(const float* dy, float* bias_gradient, std::int64_t rows, std::int64_t columns);
  void (*norm_forward)(const float* x, const float* weight, const float* bias, float* y, float* statistics,
                       std::int64_t rows, std::int64_t columns);
  void (*norm_backward)(const float* x, const float* weight, const float* statistics, const float* dy,
                        float* dx, float* weight_gradient, float* bias_gradient, std::int64_t rows,
                        std::int64_t columns);
  void (*gelu_forward)(const float* x, float* y, std::int64_t count);
  void (*gelu_backward)(const float* x, const float* dy, float* dx, std::int64_t count);
  void (*relu_forward)(const float* x, float* y, std::int64_t count);
  void (*relu_backward)(const float* x, const float* dy, float* dx, std::int64_t count);
  void (*add)(const float* a, const float* b, float* sum, std::int64_t count);
  void (*scale)(const float* from, float* to, float factor, std::int64_t count);
  void (*attention_forward)(const AttentionArguments& call, float* output);
  void (*attention_backward)(const AttentionArguments& call, const float* output_gradient,
                             float* qkv_gradient, float* scores);
  void (*embedding_forward)(const std::int32_t* ids, const float* token, const float* position, float* y,
                            std::int64_t rows, std::int64_t length, std::int64_t columns);
  void (*embedding_backward)(const std::int32_t* ids, const float* dy, float* token_gradient,
                             float* position_gradient, std::int64_t rows, std::int64_t length,
                             std::int64_t columns);
  /// Returns the sum over rows; logits become (softmax - one hot) x factor.
  double (*cross_entropy)(float* logits, const std::int32_t* targets, std::int64_t rows, std::int64_t classes,
                          float factor);
  void (*adamw)(float* parameters, const float* gradients, float* first, float* second, std::int64_t count,
                const AdamWArguments& settings);
};

/// Those that were compiled in and run on this machine, the best one first; never empty.
[[nodiscard]] std::vector<const HostKernels*> host_kernels();

}  // namespace stepcast
