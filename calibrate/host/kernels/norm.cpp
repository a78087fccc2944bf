#include "calibrate/host/kernels/kernel_set.hpp"

namespace stepcast::STEPCAST_KERNEL_SET {
namespace {

constexpr float variance_floor = 1e-5F;  // torch.nn.LayerNorm's default, and GPT-2's

}  // namespace

void norm_forward(const float* x, const float* weight, const float* bias, float* y, float* statistics,
                  std::int64_t rows, std::int64_t columns) {
  const ConstArrayView gain(weight, columns), shift(bias, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    const ConstArrayView in(x + row * columns, columns);
    const float mean = in.mean();
    const float variance = (in - mean).square().mean();
    const float inverse = 1.0F / __builtin_sqrtf(variance + variance_floor);
    ArrayView(y + row * columns, columns) = (in - mean) * inverse * gain + shift;
    statistics[2 * row] = mean;
    statistics[2 * row + 1] = inverse;
  }
}

void norm_backward(const float* x, const float* weight, const float* statistics, const float* dy, float* dx,
                   float* weight_gradient, float* bias_gradient, std::int64_t rows, std::int64_t columns) {
  // With z = (x - mean) / deviation and g = dy weight:
  // dx = (g - mean(g) - z mean(g z)) / deviation.
  const ConstArrayView gain(weight, columns);
  ArrayView gain_gradient(weight_gradient, columns), shift_gradient(bias_gradient, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    const ConstArrayView in(x + row * columns, columns), gradient(dy + row * columns, columns);
    const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    const auto z = (in - mean) * inverse;
    const float mean_g = (gradient * gain).mean();
    const float mean_gz = (gradient * gain * z).mean();
    gain_gradient += gradient * z;
    shift_gradient += gradient;
    ArrayView(dx + row * columns, columns) = (gradient * gain - mean_g - z * mean_gz) * inverse;
  }
}

}  // namespace stepcast::STEPCAST_KERNEL_SET
