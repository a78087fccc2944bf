#include "calibrate/host/kernels/kernel_set.hpp"

namespace stepcast::STEPCAST_KERNEL_SET {
namespace {

// gelu(x) = x / 2 (1 + tanh(u)), u = root_two_over_pi (x + cubic x^3): GPT-2's gelu_new, and
// torch.nn.GELU(approximate="tanh").
constexpr float root_two_over_pi = 0.7978845608028654F;
constexpr float cubic = 0.044715F;

}  // namespace

void gelu_forward(const float* x, float* y, std::int64_t count) {
  const ConstArrayView in(x, count);
  ArrayView(y, count) = 0.5F * in * (1.0F + (root_two_over_pi * in * (1.0F + cubic * in.square())).tanh());
}

void gelu_backward(const float* x, const float* dy, float* dx, std::int64_t count) {
  // d/dx = (1 + t) / 2 + x / 2 (1 - t^2) u'. A block's tanh stays in the first-level cache.
  constexpr std::int64_t block = 1024;
  Eigen::Array<float, block, 1> memory;
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t n = count - first < block ? count - first : block;
    const ConstArrayView in(x + first, n), gradient(dy + first, n);
    ArrayView t(memory.data(), n);
    t = (root_two_over_pi * in * (1.0F + cubic * in.square())).tanh();
    ArrayView(dx + first, n) =
        gradient * (0.5F * (1.0F + t) + 0.5F * in * (1.0F - t.square()) *
                                            (root_two_over_pi * (1.0F + 3.0F * cubic * in.square())));
  }
}

void relu_forward(const float* x, float* y, std::int64_t count) {
  ArrayView(y, count) = ConstArrayView(x, count).max(0.0F);
}

void relu_backward(const float* x, const float* dy, float* dx, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) dx[i] = x[i] > 0.0F ? dy[i] : 0.0F;
}

void add(const float* a, const float* b, float* sum, std::int64_t count) {
  ArrayView(sum, count) = ConstArrayView(a, count) + ConstArrayView(b, count);
}

void scale(const float* from, float* to, float factor, std::int64_t count) {
  ArrayView(to, count) = factor * ConstArrayView(from, count);
}

void bias_forward(float* y, const float* bias, std::int64_t rows, std::int64_t columns) {
  const ConstArrayView addend(bias, columns);
  for (std::int64_t row = 0; row < rows; ++row) ArrayView(y + row * columns, columns) += addend;
}

void bias_backward(const float* dy, float* bias_gradient, std::int64_t rows, std::int64_t columns) {
  ArrayView sums(bias_gradient, columns);
  for (std::int64_t row = 0; row < rows; ++row) sums += ConstArrayView(dy + row * columns, columns);
}

void adamw(float* __restrict parameters, const float* __restrict gradients, float* __restrict first,
           float* __restrict second, std::int64_t count, const AdamWArguments& settings) {
  const AdamWArguments s = settings;
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradients[i];
    const float m = s.beta1 * first[i] + (1.0F - s.beta1) * g;
    const float v = s.beta2 * second[i] + (1.0F - s.beta2) * g * g;
    first[i] = m;
    second[i] = v;
    const float root = __builtin_sqrtf(v) * s.root_correction;
    parameters[i] = s.keep * parameters[i] - s.step_size * m / (root + s.epsilon);
  }
}

}  // namespace stepcast::STEPCAST_KERNEL_SET
