#include <utility>

#include "calibrate/host/kernels/kernel_set.hpp"

namespace stepcast::STEPCAST_KERNEL_SET {
namespace {

template <class A, class B>
void product(const A& a, const B& b, MatrixView& c, bool accumulate) {
  if (accumulate) {
    c.noalias() += a * b;
  } else {
    c.noalias() = a * b;
  }
}

ConstMatrixView view(const float* data, bool transposed, std::int64_t rows, std::int64_t columns) {
  if (transposed) std::swap(rows, columns);
  return {data, rows, columns, Eigen::OuterStride<>(columns)};
}

}  // namespace

void multiply(const ConstMatrixView& a, bool transpose_a, const ConstMatrixView& b, bool transpose_b,
              MatrixView c, bool accumulate) {
  if (transpose_a && transpose_b) {
    product(a.transpose(), b.transpose(), c, accumulate);
  } else if (transpose_a) {
    product(a.transpose(), b, c, accumulate);
  } else if (transpose_b) {
    product(a, b.transpose(), c, accumulate);
  } else {
    product(a, b, c, accumulate);
  }
}

void gemm(const float* a, bool transpose_a, const float* b, bool transpose_b, float* c, bool accumulate,
          std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  multiply(view(a, transpose_a, rows, depth), transpose_a, view(b, transpose_b, depth, columns), transpose_b,
           MatrixView(c, rows, columns, Eigen::OuterStride<>(columns)), accumulate);
}

}  // namespace stepcast::STEPCAST_KERNEL_SET
