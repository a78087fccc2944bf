#include "calibrate/host/kernels/kernel_set.hpp"

namespace stepcast::STEPCAST_KERNEL_SET {

void embedding_forward(const std::int32_t* ids, const float* token, const float* position, float* y,
                       std::int64_t rows, std::int64_t length, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const ConstArrayView word(token + ids[row] * columns, columns);
    ArrayView out(y + row * columns, columns);
    if (position) {
      out = word + ConstArrayView(position + row % length * columns, columns);
    } else {
      out = word;
    }
  }
}

void embedding_backward(const std::int32_t* ids, const float* dy, float* token_gradient,
                        float* position_gradient, std::int64_t rows, std::int64_t length,
                        std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const ConstArrayView gradient(dy + row * columns, columns);
    ArrayView(token_gradient + ids[row] * columns, columns) += gradient;
    if (position_gradient) ArrayView(position_gradient + row % length * columns, columns) += gradient;
  }
}

double cross_entropy(float* logits, const std::int32_t* targets, std::int64_t rows, std::int64_t classes,
                     float factor) {
  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    ArrayView z(logits + row * classes, classes);
    const float highest = z.maxCoeff();
    const float of_target = z[targets[row]] - highest;
    z = (z - highest).exp();
    const float sum = z.sum();
    total += __builtin_log(static_cast<double>(sum)) - static_cast<double>(of_target);
    z *= factor / sum;
    z[targets[row]] -= factor;
  }
  return total;
}

}  // namespace stepcast::STEPCAST_KERNEL_SET
