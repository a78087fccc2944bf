#include "models/model.hpp"

#include <algorithm>

namespace stepcast {
namespace {

/// Query-key pairs that attention computes. Causal: half of all; with a window w < k, k w - w^2 / 2, which
/// meets the causal half at w = k, so that no jump appears where the window stops to matter.
double attended_pairs(const AttentionWork& work) {
  const auto queries = static_cast<double>(work.query_length);
  const auto keys = static_cast<double>(work.key_length);
  const double window = work.window > 0 ? std::min(static_cast<double>(work.window), keys) : keys;
  if (work.causal) return queries * (window - window * window / (2 * keys));
  return queries * window;
}

template <class Count>
Flop sum(const std::vector<Operator>& operators, Count count) {
  Flop total;
  for (const Operator& op : operators) total += count(op);
  return total;
}

}  // namespace

std::int64_t Parameter::count() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

std::int64_t Layer::parameter_count() const {
  std::int64_t total = 0;
  for (const Parameter& parameter : parameters) total += parameter.count();
  return total;
}

std::int64_t Model::parameter_count() const {
  std::int64_t total = 0;
  for (const Layer& layer : layers) total += layer.parameter_count();
  return total;
}

bool is_recomputed(const Operator& op, Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
      return false;
    case Recompute::selective:
      return op.recomputed_by_selective;
    case Recompute::alternate:
      return op.recomputed_by_selective || op.recomputed_by_alternate;
    case Recompute::full:
      return true;
  }
  return false;
}

SavedActivations kept_activations(const Layer& layer, Recompute recompute, bool fused, bool scores) {
  if (layer.kind != LayerKind::block) recompute = Recompute::none;
  SavedActivations total;
  if (recompute == Recompute::full) {
    total.elements = layer.output_elements;
    return total;
  }
  for (const Operator& op : layer.operators) {
    if (is_recomputed(op, recompute)) continue;
    total += fused ? op.saved_fused : op.saved_eager;
    if (scores) total += op.saved_scores;
  }
  return total;
}

Flop forward_flops(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::gemm: {
      const GemmWork& work = op.gemm;
      return Flop(2 * work.rows * static_cast<double>(work.columns) * static_cast<double>(work.depth) *
                  static_cast<double>(work.groups));
    }
    case OperatorKind::convolution: {
      const ConvolutionWork& work = op.convolution;
      return Flop(2 * static_cast<double>(work.out_height * work.out_width) *
                  static_cast<double>(work.out_channels) *
                  static_cast<double>(work.in_channels / work.groups * work.kernel * work.kernel));
    }
    case OperatorKind::attention: {
      const AttentionWork& work = op.attention;
      return Flop(2 * static_cast<double>(work.query_heads * (work.head_dim + work.value_dim)) *
                  attended_pairs(work));
    }
    case OperatorKind::memory:
      break;
  }
  return Flop();
}

Flop forward_flops(const Layer& layer) {
  return sum(layer.operators, [](const Operator& op) { return forward_flops(op); });
}

Flop forward_flops(const Model& model) {
  Flop total;
  for (const Layer& layer : model.layers) total += forward_flops(layer);
  return total;
}

Flop backward_flops(const Operator& op) {
  const bool one_product = (op.kind == OperatorKind::gemm && !op.gemm.input_gradient) ||
                           (op.kind == OperatorKind::convolution && !op.convolution.input_gradient);
  return (one_product ? 1.0 : 2.0) * forward_flops(op);
}

Flop backward_flops(const Layer& layer) {
  return sum(layer.operators, [](const Operator& op) { return backward_flops(op); });
}

Flop backward_flops(const Model& model) {
  Flop total;
  for (const Layer& layer : model.layers) total += backward_flops(layer);
  return total;
}

}  // namespace stepcast
