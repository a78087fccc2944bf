#include "models/transformer_block.hpp"

#include <string>
#include <utility>

#include "models/counting.hpp"
#include "models/layer_builder.hpp"
#include "models/module_names.hpp"

namespace stepcast {
namespace {

using counting::Counted;

class BlockBuilder {
 public:
  BlockBuilder(const TransformerArchitecture& shape, std::int64_t index, std::int64_t tokens,
               const BlockExtras& extras)
      : shape_(shape),
        extras_(extras),
        index_(index),
        length_(tokens),
        tokens_(static_cast<double>(tokens)),
        width_(tokens_ * static_cast<double>(shape.hidden)),
        queries_(shape.heads * shape.head_dim),
        keys_(shape.key_value_heads * shape.head_dim),
        layer_(std::string(family_names(shape.family).block) + std::to_string(index), LayerKind::block,
               &family_names(shape.family).modules) {}

  Layer build() {
    if (shape_.parallel_attention) {
      parallel();
    } else if (shape_.norm_placement == NormPlacement::after) {
      attention();
      residual("attention.residual", 1, 1).recomputed_by_alternate = true;
      norm("attention.norm", Role::attention_norm, 1, true).recomputed_by_selective = true;
      mlp();
      residual("mlp.residual", 1, 1);
      // Its result is the next block's input: three projections read it.
      norm("mlp.norm", Role::mlp_norm, projection_count(), true);
    } else {
      const bool around = shape_.norm_placement == NormPlacement::around;
      norm("attention.norm", Role::attention_norm, projection_count(), true).recomputed_by_selective = true;
      attention();
      if (around)
        norm("attention.post_norm", Role::attention_post_norm, 1, false).recomputed_by_selective = true;
      residual("attention.residual", 1, 1).recomputed_by_alternate = true;
      if (extras_.cross_tokens > 0) cross_attention();
      norm("mlp.norm", Role::mlp_norm, mlp_reader_count(), true).recomputed_by_selective = true;
      mlp();
      if (around) norm("mlp.post_norm", Role::mlp_post_norm, 1, false).recomputed_by_selective = true;
      residual("mlp.residual", 1, 1);
      if (extras_.closing_norm) closing_norm();
    }
    return layer_.build(width_);
  }

 private:
  double size(std::int64_t columns) const { return tokens_ * static_cast<double>(columns); }
  bool sparse() const { return shape_.is_sparse(index_); }
  int projection_count() const { return shape_.fused_qkv ? 1 : 3; }
  int mlp_reader_count() const { return sparse() || (shape_.gated && !shape_.fused_gate_up) ? 2 : 1; }

  /// Falcon: attention and MLP read the block's input beside each other; one sum at the end.
  void parallel() {
    const int norms = shape_.separate_mlp_norm ? 2 : 1;
    const int readers =
        shape_.separate_mlp_norm ? projection_count() : projection_count() + mlp_reader_count();
    norm("attention.norm", Role::attention_norm, readers, true).recomputed_by_selective = true;
    attention();
    if (shape_.separate_mlp_norm) {
      norm("mlp.norm", Role::mlp_norm, mlp_reader_count(), true).recomputed_by_selective = true;
    }
    mlp();
    residual("mlp.residual", 2, norms);
  }

  Operator& norm(std::string name, Role role, int readers, bool joins) {
    std::vector<int> parameters = {layer_.parameter(role, ".weight", {shape_.hidden})};
    if (shape_.norm_bias) parameters.push_back(layer_.parameter(role, ".bias", {shape_.hidden}));
    return layer_.memory(std::move(name), counting::norm(shape_, width_, tokens_, readers, joins),
                         std::move(parameters));
  }

  Operator& residual(std::string name, int addends, int joins) {
    return layer_.memory(std::move(name),
                         counting::residual(width_, shape_.hidden_dropout > 0, addends, joins));
  }

  std::vector<std::int64_t> weight_shape(std::int64_t out, std::int64_t in) const {
    return shape_.transposed_weights ? std::vector{in, out} : std::vector{out, in};
  }

  /// A product with its bias, on `rows` tokens. What is saved is its result, in elements per sample.
  void linear(const std::string& name, Role role, double rows, std::int64_t out, std::int64_t in, bool bias,
              double saved_eager, double saved_fused) {
    const int weight = layer_.parameter(role, ".weight", weight_shape(out, in));
    Operator& product = layer_.gemm(name, rows, out, in, {weight}, saved_eager);
    product.saved_fused.elements = saved_fused;
    product.recomputed_by_alternate = (++products_ % 2) == 0;
    if (!bias) return;
    layer_.memory(name + ".bias", counting::bias(rows * static_cast<double>(out)),
                  {layer_.parameter(role, ".bias", {out})});
  }

  void attention() {
    const bool rotary = shape_.positions == Positions::rotary;
    const double q = size(queries_), kv = size(keys_);
    // What the attention core reads is kept: behind the rotation, where there is one, for queries and keys.
    if (shape_.fused_qkv) {
      // Eager: values are a view of the whole product, which stays.
      linear("attention.qkv", Role::qkv, tokens_, queries_ + 2 * keys_, shape_.hidden, shape_.qkv_bias,
             q + 2 * kv, rotary ? kv : q + 2 * kv);
    } else {
      linear("attention.q", Role::query, tokens_, queries_, shape_.hidden, shape_.qkv_bias, rotary ? 0 : q,
             rotary ? 0 : q);
      linear("attention.k", Role::key, tokens_, keys_, shape_.hidden, shape_.qkv_bias, rotary ? 0 : kv,
             rotary ? 0 : kv);
      linear("attention.v", Role::value, tokens_, keys_, shape_.hidden, shape_.qkv_bias, kv, kv);
    }
    if (shape_.qk_norm) {
      layer_.memory("attention.qk_norm",
                    counting::head_norm(q + kv, size(shape_.heads + shape_.key_value_heads)),
                    {layer_.parameter(Role::query_norm, ".weight", {shape_.head_dim}),
                     layer_.parameter(Role::key_norm, ".weight", {shape_.head_dim})});
    }
    if (rotary) layer_.memory("attention.rotary", counting::rotary(q + kv));
    // One key-value head is broadcast without a copy.
    if (shape_.key_value_heads > 1 && shape_.key_value_heads < shape_.heads) {
      layer_.memory("attention.repeat_kv", counting::repeat_key_values(2 * kv, 2 * q))
          .recomputed_by_selective = true;
    }
    if (extras_.relative_buckets > 0) {
      layer_.memory(
          "attention.relative_bias",
          counting::relative_bias(static_cast<double>(shape_.heads) * tokens_ * tokens_),
          {layer_.parameter(Role::relative_bias, ".weight", {extras_.relative_buckets, shape_.heads})});
    }
    core("attention.core", length_, shape_.window_of(index_), shape_.causal);
    const bool post_norm = shape_.norm_placement == NormPlacement::around;
    linear("attention.output", Role::attention_output, tokens_, shape_.hidden, queries_,
           shape_.attention_output_bias, kept_for_post_norm(post_norm), post_norm ? width_ : 0);
  }

  /// Queries of the decoder's tokens meet keys and values of the encoder's. The gradients that all decoder
  /// blocks send to the encoder's result are added up, one more sum a block, which is left out.
  void cross_attention() {
    const auto keys = static_cast<double>(extras_.cross_tokens);
    const double kv = keys * static_cast<double>(keys_);
    norm("cross.norm", Role::cross_norm, 1, true).recomputed_by_selective = true;
    linear("cross.q", Role::cross_query, tokens_, queries_, shape_.hidden, false, size(queries_),
           size(queries_));
    linear("cross.k", Role::cross_key, keys, keys_, shape_.hidden, false, kv, kv);
    linear("cross.v", Role::cross_value, keys, keys_, shape_.hidden, false, kv, kv);
    core("cross.core", extras_.cross_tokens, 0, false);
    linear("cross.output", Role::cross_output, tokens_, shape_.hidden, queries_, false, 0, 0);
    residual("cross.residual", 1, 1).recomputed_by_alternate = true;
  }

  void closing_norm() {
    norm("closing.norm", Role::closing_norm, 1, false);
    if (shape_.hidden_dropout > 0) layer_.memory("closing.dropout", counting::dropout(width_));
  }

  /// A post norm's backward needs its input; the eager RMS norm keeps an fp32 copy of its own instead.
  double kept_for_post_norm(bool post_norm) const {
    return post_norm && shape_.norm == NormKind::layer_norm ? width_ : 0;
  }

  void core(std::string name, std::int64_t key_length, std::int64_t window, bool causal) {
    Operator op;
    op.name = std::move(name);
    op.kind = OperatorKind::attention;
    AttentionWork& work = op.attention;
    work.query_heads = shape_.heads;
    work.key_value_heads = shape_.key_value_heads;
    work.head_dim = work.value_dim = shape_.head_dim;
    work.query_length = length_;
    work.key_length = key_length;
    work.window = window;
    work.causal = causal;
    work.dropout_masks = shape_.attention_dropout > 0 ? 1 : 0;
    op.saved_eager = op.saved_fused = {size(queries_), 4 * size(shape_.heads)};
    // Softmax result; with dropout also its mask (a byte) and its result: 5 a s^2 bytes in 16 bit.
    const double scores = size(shape_.heads) * static_cast<double>(key_length);
    op.saved_scores = {scores * (1 + work.dropout_masks), scores * work.dropout_masks};
    layer_.add(std::move(op));
  }

  void mlp() {
    if (sparse()) return experts();
    const std::int64_t inner = shape_.feed_forward;
    const double f = size(inner);
    if (shape_.fused_gate_up) {
      linear("mlp.gate_up", Role::gate_up, tokens_, 2 * inner, shape_.hidden, shape_.mlp_bias, 2 * f, 2 * f);
    } else {
      // ReLU's backward needs its result only; the others need their input.
      const double kept = shape_.gated || shape_.activation != Activation::relu ? f : 0;
      if (shape_.gated) linear("mlp.gate", Role::gate, tokens_, inner, shape_.hidden, shape_.mlp_bias, f, f);
      linear("mlp.up", Role::up, tokens_, inner, shape_.hidden, shape_.mlp_bias, kept, kept);
    }
    activation(f, 1);
    if (shape_.inner_dropout > 0) {
      layer_.memory("mlp.dropout", counting::dropout(f)).recomputed_by_selective = true;
    }
    const bool post_norm = shape_.norm_placement == NormPlacement::around;
    linear("mlp.down", Role::down, tokens_, shape_.hidden, inner, shape_.mlp_bias,
           kept_for_post_norm(post_norm), post_norm ? width_ : 0);
  }

  void activation(double n, int copies) {
    Counted counted =
        shape_.gated ? counting::gated_activation(n) : counting::activation(shape_.activation, n);
    counted.work.eager_forward.kernels *= copies;
    counted.work.eager_backward.kernels *= copies;
    layer_.memory("mlp.activation", counted).recomputed_by_selective = true;
  }

  void experts() {
    const auto count = static_cast<double>(shape_.experts);
    const double routed = size(shape_.experts_per_token);
    const auto hidden = static_cast<double>(shape_.hidden);
    const std::int64_t inner = shape_.expert_feed_forward;
    const double f = routed * static_cast<double>(inner);
    linear("mlp.router", Role::router, tokens_, shape_.experts, shape_.hidden, false, size(shape_.experts),
           size(shape_.experts));
    layer_.memory("mlp.permute", counting::permute(tokens_, routed, hidden, count)).recomputed_by_selective =
        true;
    grouped("mlp.gate", Role::expert_gate, routed / count, inner, shape_.hidden, f);
    grouped("mlp.up", Role::expert_up, routed / count, inner, shape_.hidden, f);
    activation(f, static_cast<int>(shape_.experts));
    // The experts' results stay for the gradient of the routing weights.
    grouped("mlp.down", Role::expert_down, routed / count, shape_.hidden, inner, routed * hidden);
    layer_.memory("mlp.unpermute", counting::unpermute(tokens_, routed, hidden, count));
  }

  void grouped(const std::string& name, Role role, double rows, std::int64_t out, std::int64_t in,
               double saved) {
    std::vector<int> weights;
    for (std::int64_t e = 0; e < shape_.experts; ++e) {
      weights.push_back(layer_.parameter(role, ".weight", {out, in}, e));
    }
    Operator& product = layer_.gemm(name, rows, out, in, std::move(weights), saved);
    product.gemm.groups = shape_.experts;
    product.recomputed_by_alternate = (++products_ % 2) == 0;
  }

  const TransformerArchitecture& shape_;
  const BlockExtras& extras_;
  std::int64_t index_, length_;
  double tokens_, width_;
  std::int64_t queries_, keys_;
  LayerBuilder layer_;
  int products_{};
};

}  // namespace

Layer transformer_block(const TransformerArchitecture& shape, std::int64_t index, std::int64_t tokens,
                        const BlockExtras& extras) {
  return BlockBuilder(shape, index, tokens, extras).build();
}

}  // namespace stepcast
