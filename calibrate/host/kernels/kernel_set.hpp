#pragma once

// For the kernels' own source files only, which are compiled once for each instruction set.
// STEPCAST_KERNEL_SET names the set. Eigen's templates are renamed with it: otherwise the linker would keep
// one copy of each for all sets, and a plain machine might meet AVX-512 instructions.
#define STEPCAST_JOIN2(a, b) a##b
#define STEPCAST_JOIN(a, b) STEPCAST_JOIN2(a, b)
#define Eigen STEPCAST_JOIN(Eigen_, STEPCAST_KERNEL_SET)
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#include <Eigen/Core>
#include <cstdint>

#include "calibrate/host/kernels/table.hpp"

namespace stepcast::STEPCAST_KERNEL_SET {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixView = Eigen::Map<Matrix, 0, Eigen::OuterStride<>>;
using ConstMatrixView = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;
using ArrayView = Eigen::Map<Eigen::ArrayXf>;
using ConstArrayView = Eigen::Map<const Eigen::ArrayXf>;

/// c = op(a) op(b), or c += .
void multiply(const ConstMatrixView& a, bool transpose_a, const ConstMatrixView& b, bool transpose_b,
              MatrixView c, bool accumulate);

// Those of HostKernels, under the same names.
void gemm(const float* a, bool transpose_a, const float* b, bool transpose_b, float* c, bool accumulate,
          std::int64_t rows, std::int64_t columns, std::int64_t depth);
void bias_forward(float* y, const float* bias, std::int64_t rows, std::int64_t columns);
void bias_backward(const float* dy, float* bias_gradient, std::int64_t rows, std::int64_t columns);
void norm_forward(const float* x, const float* weight, const float* bias, float* y, float* statistics,
                  std::int64_t rows, std::int64_t columns);
void norm_backward(const float* x, const float* weight, const float* statistics, const float* dy, float* dx,
                   float* weight_gradient, float* bias_gradient, std::int64_t rows, std::int64_t columns);
void gelu_forward(const float* x, float* y, std::int64_t count);
void gelu_backward(const float* x, const float* dy, float* dx, std::int64_t count);
void relu_forward(const float* x, float* y, std::int64_t count);
void relu_backward(const float* x, const float* dy, float* dx, std::int64_t count);
void add(const float* a, const float* b, float* sum, std::int64_t count);
void scale(const float* from, float* to, float factor, std::int64_t count);
void attention_forward(const AttentionArguments& call, float* output);
void attention_backward(const AttentionArguments& call, const float* output_gradient, float* qkv_gradient,
                        float* scores);
void embedding_forward(const std::int32_t* ids, const float* token, const float* position, float* y,
                       std::int64_t rows, std::int64_t length, std::int64_t columns);
void embedding_backward(const std::int32_t* ids, const float* dy, float* token_gradient,
                        float* position_gradient, std::int64_t rows, std::int64_t length,
                        std::int64_t columns);
double cross_entropy(float* logits, const std::int32_t* targets, std::int64_t rows, std::int64_t classes,
                     float factor);
void adamw(float* parameters, const float* gradients, float* first, float* second, std::int64_t count,
           const AdamWArguments& settings);

}  // namespace stepcast::STEPCAST_KERNEL_SET
