#include "models/config_families.hpp"

namespace stepcast::config {
namespace {

constexpr std::int64_t most_layers = 10'000;
constexpr std::int64_t widest = 10'000'000;

}  // namespace

Architecture read_gpt2(ConfigReader& reader) {
  TransformerArchitecture shape;
  shape.family = "gpt2";
  shape.layers = reader.size({"n_layer", "num_hidden_layers"}, most_layers);
  shape.hidden = reader.size({"n_embd", "hidden_size"}, widest);
  shape.heads = shape.key_value_heads = reader.size({"n_head", "num_attention_heads"}, widest);
  shape.feed_forward = reader.size_or({"n_inner"}, 4 * shape.hidden, widest);
  shape.vocabulary = reader.size({"vocab_size"});
  shape.max_positions = reader.size_or({"n_positions", "n_ctx", "max_position_embeddings"}, 1024);
  shape.positions = Positions::learned;
  shape.activation = read_activation(reader, {"activation_function"}, Activation::gelu);
  shape.fused_qkv = shape.transposed_weights = true;
  shape.qkv_bias = shape.attention_output_bias = shape.mlp_bias = true;
  shape.attention_dropout = reader.share_or({"attn_pdrop"}, 0.1);
  shape.hidden_dropout = reader.share_or({"resid_pdrop"}, 0.1);
  shape.embedding_dropout = reader.share_or({"embd_pdrop"}, 0.1);
  shape.tied_embeddings = reader.flag_or({"tie_word_embeddings"}, true);
  finish_heads(reader, shape, {"n_embd", "hidden_size"}, {"n_head", "num_attention_heads"}, {});
  return shape;
}

Architecture read_opt(ConfigReader& reader) {
  TransformerArchitecture shape;
  shape.family = "opt";
  shape.layers = reader.size({"num_hidden_layers"}, most_layers);
  shape.hidden = reader.size({"hidden_size"}, widest);
  shape.heads = shape.key_value_heads = reader.size({"num_attention_heads"}, widest);
  shape.feed_forward = reader.size({"ffn_dim"}, widest);
  shape.vocabulary = reader.size({"vocab_size"});
  shape.max_positions = reader.size_or({"max_position_embeddings"}, 2048);
  shape.positions = Positions::learned;
  shape.position_offset = 2;
  shape.activation = read_activation(reader, {"activation_function"}, Activation::relu);
  shape.qkv_bias = shape.attention_output_bias = shape.mlp_bias = reader.flag_or({"enable_bias"}, true);
  shape.attention_dropout = reader.share_or({"attention_dropout"}, 0);
  shape.hidden_dropout = reader.share_or({"dropout"}, 0.1);
  shape.tied_embeddings = reader.flag_or({"tie_word_embeddings"}, true);
  const bool before = reader.flag_or({"do_layer_norm_before"}, true);
  shape.norm_placement = before ? NormPlacement::before : NormPlacement::after;
  shape.final_norm = before && !reader.flag_or({"_remove_final_layer_norm"}, false);
  if (const std::int64_t width = reader.size_or({"word_embed_proj_dim"}, shape.hidden, widest);
      shape.hidden > 0 && width != shape.hidden) {
    reader.fault({"word_embed_proj_dim"},
                 "word_embed_proj_dim is " + std::to_string(width) + ", not hidden_size " +
                     std::to_string(shape.hidden) + ": projected embeddings (opt-350m) are not built yet",
                 "expected word_embed_proj_dim equal to hidden_size");
  }
  finish_heads(reader, shape, {"hidden_size"}, {"num_attention_heads"}, {});
  return shape;
}

Architecture read_bloom(ConfigReader& reader) {
  TransformerArchitecture shape;
  shape.family = "bloom";
  shape.layers = reader.size({"n_layer", "num_hidden_layers"}, most_layers);
  shape.hidden = reader.size({"hidden_size", "n_embed"}, widest);
  shape.heads = shape.key_value_heads = reader.size({"n_head", "num_attention_heads"}, widest);
  shape.feed_forward = 4 * shape.hidden;
  shape.vocabulary = reader.size({"vocab_size"});
  shape.max_positions = reader.size_or({"seq_length"}, 2048);
  shape.positions = Positions::alibi;
  shape.fused_qkv = shape.embedding_norm = true;
  shape.qkv_bias = shape.attention_output_bias = shape.mlp_bias = true;
  shape.attention_dropout = reader.share_or({"attention_dropout"}, 0);
  shape.hidden_dropout = reader.share_or({"hidden_dropout"}, 0);
  shape.tied_embeddings = reader.flag_or({"tie_word_embeddings"}, true);
  finish_heads(reader, shape, {"hidden_size", "n_embed"}, {"n_head", "num_attention_heads"}, {});
  return shape;
}

Architecture read_mpt(ConfigReader& reader) {
  TransformerArchitecture shape;
  shape.family = "mpt";
  shape.layers = reader.size({"n_layers"}, most_layers);
  shape.hidden = reader.size({"d_model"}, widest);
  shape.heads = shape.key_value_heads = reader.size({"n_heads"}, widest);
  shape.feed_forward = reader.size_or({"expansion_ratio"}, 4, 1000) * shape.hidden;
  shape.vocabulary = reader.size({"vocab_size"});
  shape.max_positions = reader.size_or({"max_seq_len"}, 2048);
  shape.fused_qkv = true;
  const bool bias = !reader.flag_or({"no_bias"}, true);
  shape.norm_bias = shape.qkv_bias = shape.attention_output_bias = shape.mlp_bias = bias;
  shape.hidden_dropout = reader.share_or({"resid_pdrop"}, 0);
  shape.embedding_dropout = reader.share_or({"emb_pdrop"}, 0);
  shape.tied_embeddings = reader.flag_or({"tie_word_embeddings"}, true);
  bool alibi = true;
  const Value* attention = reader.value({"attn_config"});
  if (attention != nullptr && attention->kind == Value::Kind::table) {
    ConfigReader inner(*attention, "attn_config", reader.faults());
    alibi = inner.flag_or({"alibi"}, true);
    shape.attention_dropout = inner.share_or({"attn_pdrop"}, 0);
    const std::string kind = inner.text_or({"attn_type"}, "multihead_attention");
    if (kind == "multiquery_attention") shape.key_value_heads = 1;
    if (kind == "grouped_query_attention") shape.key_value_heads = inner.size({"kv_n_heads"}, widest);
    if (inner.flag_or({"qk_ln"}, false))
      inner.fault({"qk_ln"}, "attn_config.qk_ln is not built yet", "expected false");
  } else if (attention != nullptr) {
    reader.fault({"attn_config"}, "attn_config must be an object");
  }
  shape.positions = alibi ? Positions::alibi : Positions::learned;
  if (!alibi && !reader.flag_or({"learned_pos_emb"}, true)) {
    reader.fault({"learned_pos_emb"}, "neither alibi nor learned positions: such an MPT is not built yet",
                 "expected attn_config.alibi or learned_pos_emb to be true");
  }
  finish_heads(reader, shape, {"d_model"}, {"n_heads"}, {});
  return shape;
}

Architecture read_falcon(ConfigReader& reader) {
  TransformerArchitecture shape;
  shape.family = "falcon";
  shape.layers = reader.size({"num_hidden_layers", "n_layer"}, most_layers);
  shape.hidden = reader.size({"hidden_size"}, widest);
  shape.heads = reader.size({"num_attention_heads", "n_head"}, widest);
  shape.feed_forward = reader.size_or({"ffn_hidden_size"}, 4 * shape.hidden, widest);
  shape.vocabulary = reader.size({"vocab_size"});
  shape.max_positions = reader.size_or({"max_position_embeddings"}, 2048);
  shape.positions = reader.flag_or({"alibi"}, false) ? Positions::alibi : Positions::rotary;
  shape.fused_qkv = true;
  shape.qkv_bias = shape.attention_output_bias = shape.mlp_bias = reader.flag_or({"bias"}, false);
  shape.attention_dropout = reader.share_or({"attention_dropout"}, 0);
  shape.hidden_dropout = reader.share_or({"hidden_dropout"}, 0);
  shape.tied_embeddings = reader.flag_or({"tie_word_embeddings"}, true);
  const bool newer = reader.flag_or({"new_decoder_architecture"}, false);
  const std::int64_t groups = reader.size_or({"num_kv_heads", "n_head_kv"}, shape.heads, widest);
  shape.key_value_heads = newer ? groups : reader.flag_or({"multi_query"}, true) ? 1 : shape.heads;
  shape.parallel_attention = newer || reader.flag_or({"parallel_attn"}, true);
  shape.separate_mlp_norm = newer && reader.size_or({"num_ln_in_parallel_attn"}, 2, 2) == 2;
  finish_heads(reader, shape, {"hidden_size"}, {"num_attention_heads", "n_head"},
               {"num_kv_heads", "n_head_kv"});
  return shape;
}

Architecture read_bert(ConfigReader& reader) {
  TransformerArchitecture shape;
  shape.family = "bert";
  shape.layers = reader.size({"num_hidden_layers"}, most_layers);
  shape.hidden = reader.size({"hidden_size"}, widest);
  shape.heads = shape.key_value_heads = reader.size({"num_attention_heads"}, widest);
  shape.feed_forward = reader.size({"intermediate_size"}, widest);
  shape.vocabulary = reader.size({"vocab_size"});
  shape.max_positions = reader.size_or({"max_position_embeddings"}, 512);
  shape.token_types = reader.size_or({"type_vocab_size"}, 2);
  shape.positions = Positions::learned;
  shape.norm_placement = NormPlacement::after;
  shape.activation = read_activation(reader, {"hidden_act"}, Activation::gelu);
  shape.qkv_bias = shape.attention_output_bias = shape.mlp_bias = true;
  shape.embedding_norm = true;
  shape.final_norm = shape.causal = false;
  shape.attention_dropout = reader.share_or({"attention_probs_dropout_prob"}, 0.1);
  shape.hidden_dropout = shape.embedding_dropout = reader.share_or({"hidden_dropout_prob"}, 0.1);
  shape.pooler = true;
  // Fine-tuned classes have a few outputs in place of the vocabulary.
  const Value* classes = reader.value({"architectures"});
  const std::string name =
      classes != nullptr && classes->kind == Value::Kind::array && !classes->array.empty()
          ? classes->array[0].string
          : "";
  shape.masked_language_head = !name.ends_with("QuestionAnswering") && !name.ends_with("Classification");
  shape.tied_embeddings = true;
  // 15 % of the tokens are predicted in pretraining (Devlin et al., arXiv 1810.04805, section 3.1).
  shape.predicted_share = 0.15;
  finish_heads(reader, shape, {"hidden_size"}, {"num_attention_heads"}, {});
  return shape;
}

}  // namespace stepcast::config
