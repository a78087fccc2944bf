#pragma once

#include <driver_types.h>

#include <cstdint>

#include "calibrate/device.hpp"

/// The kernels of CudaDevice, as ComputeDevice describes them; all are issued to `stream` and return at once.
/// Matrices are row-major; `rows` divides the elements. Types are fp32, bf16 and fp16, with fp32 arithmetic;
/// copy and fill_random also know fp8 (E4M3). @throws MachineError
namespace stepcast::kernels {

// elementwise.cu
void activation_forward(PointWise kind, Tensor x, Tensor y, cudaStream_t stream);
void activation_backward(PointWise kind, Tensor x, Tensor dy, Tensor dx, cudaStream_t stream);
void add(Tensor a, Tensor b, Tensor sum, cudaStream_t stream);
void copy(Tensor from, Tensor to, float scale, cudaStream_t stream);
void fill_random(Tensor to, std::uint64_t seed, float deviation, cudaStream_t stream);
void adamw(Tensor parameters, Tensor gradients, Tensor first, Tensor second, const AdamW& settings,
           cudaStream_t stream);
void pause(Seconds time, cudaStream_t stream);

// rows.cu
void bias_forward(Tensor y, Tensor bias, std::int64_t rows, cudaStream_t stream);
void bias_backward(Tensor dy, Tensor bias_gradient, std::int64_t rows, cudaStream_t stream);
void norm_forward(Tensor x, Tensor weight, Tensor bias, Tensor y, Tensor statistics, std::int64_t rows,
                  cudaStream_t stream);
void norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor dy, Tensor dx, Tensor weight_gradient,
                   Tensor bias_gradient, std::int64_t rows, cudaStream_t stream);
void embedding_forward(const std::int32_t* ids, Tensor token, Tensor position, Tensor y, std::int64_t rows,
                       std::int64_t length, cudaStream_t stream);
void embedding_backward(const std::int32_t* ids, Tensor dy, Tensor token_gradient, Tensor position_gradient,
                        std::int64_t rows, std::int64_t length, cudaStream_t stream);

// softmax.cu
void cross_entropy(Tensor logits, const std::int32_t* targets, Tensor loss, std::int64_t rows, float scale,
                   cudaStream_t stream);
/// scores: rows of `length`, row r of a sequence is r mod length; softmax(scale x scores) in place. Causal: 0
/// after the row's own place.
void softmax_forward(Tensor scores, std::int64_t length, float scale, bool causal, cudaStream_t stream);
/// gradient of the weights becomes that of the scores: scale x weight x (gradient - sum(gradient x weight)).
void softmax_backward(Tensor weights, Tensor gradient, std::int64_t length, float scale, cudaStream_t stream);
/// rows of `parts` x heads x head_dim, of samples x length rows, to parts x samples x heads matrices of
/// length x head_dim.
void split_heads(Tensor rows, Tensor heads, const AttentionCall& call, std::int64_t parts,
                 cudaStream_t stream);
/// And back.
void merge_heads(Tensor heads, Tensor rows, const AttentionCall& call, std::int64_t parts,
                 cudaStream_t stream);

}  // namespace stepcast::kernels
