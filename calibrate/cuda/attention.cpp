#include "calibrate/cuda/attention.hpp"

#include <cmath>

#include "calibrate/cuda/kernels.hpp"

namespace stepcast {
namespace {

struct Shape {
  std::int64_t pairs;   ///< of sample and head: products in a batch
  std::int64_t inputs;  ///< elements of q, of k, of v, and of the output
  std::int64_t scores;  ///< elements of all score matrices
};

Shape shape_of(const AttentionCall& call) {
  const std::int64_t pairs = call.samples * call.heads;
  return {pairs, pairs * call.length * call.head_dim, pairs * call.length * call.length};
}

float score_scale(const AttentionCall& call) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(call.head_dim)));
}

/// Memory for the time of a call.
class Scratch {
 public:
  Scratch(const AttentionTools& tools, Dtype type, std::int64_t count)
      : block_(tools.scratch(static_cast<std::int64_t>(element_size(type)) * count)),
        tensor{block_.get(), count, type} {}

 private:
  std::shared_ptr<void> block_;

 public:
  Tensor tensor;
};

}  // namespace

void run_attention_forward(const AttentionCall& call, const AttentionTools& tools) {
  const Shape shape = shape_of(call);
  const Dtype type = call.qkv.type;
  const Scratch split(tools, type, 3 * shape.inputs), product(tools, type, shape.inputs);
  kernels::split_heads(call.qkv, split.tensor, call, 3, tools.stream);
  const Tensor q = split.tensor.part(0, shape.inputs), k = split.tensor.part(shape.inputs, shape.inputs),
               v = split.tensor.part(2 * shape.inputs, shape.inputs);
  const Tensor weights = call.saved.part(0, shape.scores);
  tools.gemm({.a = q,
              .b = k,
              .c = weights,
              .rows = call.length,
              .columns = call.length,
              .depth = call.head_dim,
              .batch = shape.pairs,
              .transpose_b = true});
  kernels::softmax_forward(weights, call.length, score_scale(call), call.causal, tools.stream);
  tools.gemm({.a = weights,
              .b = v,
              .c = product.tensor,
              .rows = call.length,
              .columns = call.head_dim,
              .depth = call.length,
              .batch = shape.pairs});
  kernels::merge_heads(product.tensor, call.output, call, 1, tools.stream);
}

void run_attention_backward(const AttentionCall& call, Tensor output_gradient, Tensor qkv_gradient,
                            const AttentionTools& tools) {
  const Shape shape = shape_of(call);
  const Dtype type = call.qkv.type;
  const Scratch split(tools, type, 3 * shape.inputs), gradients(tools, type, 3 * shape.inputs),
      product(tools, type, shape.inputs), scores(tools, type, shape.scores);
  const auto third = [&](const Scratch& of, int which) {
    return of.tensor.part(which * shape.inputs, shape.inputs);
  };
  const Tensor weights = call.saved.part(0, shape.scores);
  kernels::split_heads(call.qkv, split.tensor, call, 3, tools.stream);
  kernels::split_heads(output_gradient, product.tensor, call, 1, tools.stream);
  // Gradient of v: weights' output gradient. Of the weights: output gradient times v'.
  tools.gemm({.a = weights,
              .b = product.tensor,
              .c = third(gradients, 2),
              .rows = call.length,
              .columns = call.head_dim,
              .depth = call.length,
              .batch = shape.pairs,
              .transpose_a = true});
  tools.gemm({.a = product.tensor,
              .b = third(split, 2),
              .c = scores.tensor,
              .rows = call.length,
              .columns = call.length,
              .depth = call.head_dim,
              .batch = shape.pairs,
              .transpose_b = true});
  kernels::softmax_backward(weights, scores.tensor, call.length, score_scale(call), tools.stream);
  tools.gemm({.a = scores.tensor,
              .b = third(split, 1),
              .c = third(gradients, 0),
              .rows = call.length,
              .columns = call.head_dim,
              .depth = call.length,
              .batch = shape.pairs});
  tools.gemm({.a = scores.tensor,
              .b = third(split, 0),
              .c = third(gradients, 1),
              .rows = call.length,
              .columns = call.head_dim,
              .depth = call.length,
              .batch = shape.pairs,
              .transpose_a = true});
  kernels::merge_heads(gradients.tensor, qkv_gradient, call, 3, tools.stream);
}

}  // namespace stepcast
