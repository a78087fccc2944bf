#include "models/config_families.hpp"

namespace stepcast::config {
namespace {

constexpr std::int64_t most_layers = 10'000;
constexpr std::int64_t widest = 10'000'000;

/// What all of these families share.
TransformerArchitecture common(ConfigReader& reader, std::string family) {
  TransformerArchitecture shape;
  shape.family = std::move(family);
  shape.norm = NormKind::rms_norm;
  shape.norm_bias = false;
  shape.positions = Positions::rotary;
  shape.gated = true;
  shape.layers = reader.size({"num_hidden_layers"}, most_layers);
  shape.hidden = reader.size({"hidden_size"}, widest);
  shape.heads = reader.size({"num_attention_heads"}, widest);
  shape.key_value_heads = reader.size_or({"num_key_value_heads"}, shape.heads, widest);
  shape.head_dim = reader.size_or({"head_dim"}, 0, widest);
  shape.feed_forward = reader.size({"intermediate_size"}, widest);
  shape.vocabulary = reader.size({"vocab_size"});
  // LLaMA's first conversions wrote max_sequence_length.
  shape.max_positions = reader.size_or({"max_position_embeddings", "max_sequence_length"}, 2048);
  shape.activation = read_activation(reader, {"hidden_act", "hidden_activation"}, Activation::silu);
  shape.tied_embeddings = reader.flag_or({"tie_word_embeddings"}, false);
  shape.attention_dropout = reader.share_or({"attention_dropout"}, 0);
  return shape;
}

void finish(ConfigReader& reader, TransformerArchitecture& shape) {
  finish_heads(reader, shape, {"hidden_size"}, {"num_attention_heads"}, {"num_key_value_heads"});
}

void read_experts(ConfigReader& reader, TransformerArchitecture& shape, ConfigReader::Keys count_keys) {
  shape.experts = reader.size(count_keys, 100'000);
  shape.experts_per_token = reader.size({"num_experts_per_tok"}, 100'000);
  if (shape.experts > 0 && shape.experts_per_token > shape.experts) {
    reader.fault({"num_experts_per_tok"},
                 "num_experts_per_tok is " + std::to_string(shape.experts_per_token) +
                     ", but there are only " + std::to_string(shape.experts) + " experts",
                 "expected at most the number of experts");
  }
}

}  // namespace

Architecture read_llama(ConfigReader& reader) {
  TransformerArchitecture shape = common(reader, "llama");
  shape.qkv_bias = shape.attention_output_bias = reader.flag_or({"attention_bias"}, false);
  shape.mlp_bias = reader.flag_or({"mlp_bias"}, false);
  finish(reader, shape);
  return shape;
}

Architecture read_mistral(ConfigReader& reader) {
  TransformerArchitecture shape = common(reader, "mistral");
  shape.window = reader.size_or({"sliding_window"}, 0);
  finish(reader, shape);
  return shape;
}

Architecture read_mixtral(ConfigReader& reader) {
  TransformerArchitecture shape = common(reader, "mixtral");
  shape.window = reader.size_or({"sliding_window"}, 0);
  read_experts(reader, shape, {"num_local_experts"});
  shape.expert_feed_forward = shape.feed_forward;
  finish(reader, shape);
  return shape;
}

Architecture read_qwen2(ConfigReader& reader) {
  TransformerArchitecture shape = common(reader, "qwen2");
  shape.qkv_bias = true;
  if (reader.flag_or({"use_sliding_window"}, false)) {
    shape.window = reader.size_or({"sliding_window"}, 0);
    // The first max_window_layers layers attend to everything.
    const std::int64_t full = reader.size_or({"max_window_layers"}, 0, most_layers);
    for (std::int64_t i = 0; i < shape.layers; ++i) shape.windowed.push_back(i >= full);
  }
  finish(reader, shape);
  return shape;
}

Architecture read_qwen3(ConfigReader& reader) {
  TransformerArchitecture shape = common(reader, "qwen3");
  shape.qk_norm = true;
  shape.qkv_bias = shape.attention_output_bias = reader.flag_or({"attention_bias"}, false);
  finish(reader, shape);
  return shape;
}

Architecture read_qwen3_moe(ConfigReader& reader) {
  TransformerArchitecture shape = common(reader, "qwen3_moe");
  shape.qk_norm = true;
  shape.qkv_bias = shape.attention_output_bias = reader.flag_or({"attention_bias"}, false);
  read_experts(reader, shape, {"num_experts"});
  shape.expert_feed_forward = reader.size({"moe_intermediate_size"}, widest);
  const std::int64_t step = reader.size_or({"decoder_sparse_step"}, 1, most_layers);
  const Value* dense = reader.value({"mlp_only_layers"});
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    bool is_sparse = (i + 1) % step == 0;
    if (dense != nullptr) {
      for (const Value& layer : dense->array) is_sparse = is_sparse && layer.integer != i;
    }
    shape.sparse.push_back(is_sparse);
  }
  finish(reader, shape);
  return shape;
}

Architecture read_gemma2(ConfigReader& reader) {
  TransformerArchitecture shape = common(reader, "gemma2");
  shape.tied_embeddings = reader.flag_or({"tie_word_embeddings"}, true);
  shape.activation = Activation::gelu;
  shape.norm_placement = NormPlacement::around;
  shape.unit_offset_norm = true;
  shape.scaled_embedding = true;
  shape.logits_softcap = reader.value({"final_logit_softcapping"}) != nullptr;
  shape.qkv_bias = shape.attention_output_bias = reader.flag_or({"attention_bias"}, false);
  if (shape.head_dim == 0) shape.head_dim = 256;
  // Every second layer, from the first, sees a window.
  shape.window = reader.size_or({"sliding_window"}, 4096);
  for (std::int64_t i = 0; i < shape.layers; ++i) shape.windowed.push_back(i % 2 == 0);
  finish(reader, shape);
  return shape;
}

Architecture read_phi3(ConfigReader& reader) {
  TransformerArchitecture shape = common(reader, "phi3");
  shape.fused_qkv = shape.fused_gate_up = true;
  shape.window = reader.size_or({"sliding_window"}, 0);
  shape.hidden_dropout = reader.share_or({"resid_pdrop"}, 0);
  shape.embedding_dropout = reader.share_or({"embd_pdrop"}, 0);
  finish(reader, shape);
  return shape;
}

}  // namespace stepcast::config
