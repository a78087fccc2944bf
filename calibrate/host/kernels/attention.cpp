#include "calibrate/host/kernels/kernel_set.hpp"

namespace stepcast::STEPCAST_KERNEL_SET {
namespace {

// A head's query, key or value: length x head_dim inside rows of 3 x heads x head_dim.
template <class View, class Pointer>
View head_of_qkv(Pointer qkv, const AttentionArguments& call, std::int64_t sample, std::int64_t part,
                 std::int64_t head) {
  const std::int64_t width = call.heads * call.head_dim;
  return {qkv + sample * call.length * 3 * width + part * width + head * call.head_dim, call.length,
          call.head_dim, Eigen::OuterStride<>(3 * width)};
}

template <class View, class Pointer>
View head_of_rows(Pointer rows, const AttentionArguments& call, std::int64_t sample, std::int64_t head) {
  const std::int64_t width = call.heads * call.head_dim;
  return {rows + sample * call.length * width + head * call.head_dim, call.length, call.head_dim,
          Eigen::OuterStride<>(width)};
}

float score_scale(const AttentionArguments& call) {
  return 1.0F / __builtin_sqrtf(static_cast<float>(call.head_dim));
}

// Scores become probabilities; what a causal mask hides becomes 0.
void softmax_rows(float* scores, std::int64_t length, bool causal, float factor) {
  for (std::int64_t row = 0; row < length; ++row) {
    const std::int64_t seen = causal ? row + 1 : length;
    ArrayView p(scores + row * length, seen);
    const float highest = p.maxCoeff();
    p = ((p - highest) * factor).exp();
    p *= 1.0F / p.sum();
    ArrayView(scores + row * length + seen, length - seen).setZero();
  }
}

// Gradients of probabilities become those of the products, in place: factor p (dp - sum(dp p)).
void softmax_rows_backward(const float* probabilities, float* gradient, std::int64_t length, bool causal,
                           float factor) {
  for (std::int64_t row = 0; row < length; ++row) {
    const std::int64_t seen = causal ? row + 1 : length;
    const ConstArrayView p(probabilities + row * length, seen);
    ArrayView dp(gradient + row * length, seen);
    const float sum = (dp * p).sum();
    dp = factor * p * (dp - sum);
    ArrayView(gradient + row * length + seen, length - seen).setZero();
  }
}

}  // namespace

void attention_forward(const AttentionArguments& call, float* output) {
  const Eigen::OuterStride<> square(call.length);
  for (std::int64_t sample = 0; sample < call.samples; ++sample) {
    for (std::int64_t head = 0; head < call.heads; ++head) {
      float* scores = call.saved + (sample * call.heads + head) * call.length * call.length;
      const auto query = head_of_qkv<ConstMatrixView>(call.qkv, call, sample, 0, head);
      const auto key = head_of_qkv<ConstMatrixView>(call.qkv, call, sample, 1, head);
      const auto value = head_of_qkv<ConstMatrixView>(call.qkv, call, sample, 2, head);
      multiply(query, false, key, true, MatrixView(scores, call.length, call.length, square), false);
      softmax_rows(scores, call.length, call.causal, score_scale(call));
      multiply(ConstMatrixView(scores, call.length, call.length, square), false, value, false,
               head_of_rows<MatrixView>(output, call, sample, head), false);
    }
  }
}

void attention_backward(const AttentionArguments& call, const float* output_gradient, float* qkv_gradient,
                        float* scores) {
  const Eigen::OuterStride<> square(call.length);
  for (std::int64_t sample = 0; sample < call.samples; ++sample) {
    for (std::int64_t head = 0; head < call.heads; ++head) {
      const float* saved = call.saved + (sample * call.heads + head) * call.length * call.length;
      const ConstMatrixView probabilities(saved, call.length, call.length, square);
      const ConstMatrixView products(scores, call.length, call.length, square);
      const auto query = head_of_qkv<ConstMatrixView>(call.qkv, call, sample, 0, head);
      const auto key = head_of_qkv<ConstMatrixView>(call.qkv, call, sample, 1, head);
      const auto value = head_of_qkv<ConstMatrixView>(call.qkv, call, sample, 2, head);
      const auto gradient = head_of_rows<ConstMatrixView>(output_gradient, call, sample, head);
      multiply(probabilities, true, gradient, false,
               head_of_qkv<MatrixView>(qkv_gradient, call, sample, 2, head), false);
      multiply(gradient, false, value, true, MatrixView(scores, call.length, call.length, square), false);
      softmax_rows_backward(saved, scores, call.length, call.causal, score_scale(call));
      multiply(products, false, key, false, head_of_qkv<MatrixView>(qkv_gradient, call, sample, 0, head),
               false);
      multiply(products, true, query, false, head_of_qkv<MatrixView>(qkv_gradient, call, sample, 1, head),
               false);
    }
  }
}

}  // namespace stepcast::STEPCAST_KERNEL_SET
