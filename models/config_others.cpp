#include <algorithm>

#include "models/config_families.hpp"

namespace stepcast::config {
namespace {

constexpr std::int64_t most_layers = 10'000;
constexpr std::int64_t widest = 10'000'000;

}  // namespace

Architecture read_t5(ConfigReader& reader) {
  EncoderDecoderArchitecture architecture;
  TransformerArchitecture& shape = architecture.stack;
  shape.family = "t5";
  shape.layers = reader.size({"num_layers"}, most_layers);
  architecture.decoder_layers = reader.size_or({"num_decoder_layers"}, shape.layers, most_layers);
  shape.hidden = reader.size({"d_model"}, widest);
  shape.heads = shape.key_value_heads = reader.size({"num_heads"}, widest);
  shape.head_dim = reader.size_or({"d_kv"}, 64, widest);
  shape.feed_forward = reader.size({"d_ff"}, widest);
  shape.vocabulary = reader.size({"vocab_size"});
  shape.max_positions = reader.size_or({"n_positions"}, 512);
  architecture.relative_buckets = reader.size_or({"relative_attention_num_buckets"}, 32, 100'000);
  shape.norm = NormKind::rms_norm;
  shape.norm_bias = false;
  shape.positions = Positions::relative;
  // "relu", or from version 1.1 on "gated-gelu".
  const std::string projection = reader.text_or({"feed_forward_proj"}, "relu");
  shape.gated = projection.starts_with("gated-");
  shape.activation = projection.ends_with("relu") ? Activation::relu : Activation::gelu;
  const double dropout = reader.share_or({"dropout_rate"}, 0.1);
  shape.attention_dropout = shape.hidden_dropout = shape.embedding_dropout = shape.inner_dropout = dropout;
  shape.tied_embeddings = reader.flag_or({"tie_word_embeddings"}, true);
  return architecture;
}

Architecture read_vit(ConfigReader& reader) {
  VisionTransformerArchitecture architecture;
  TransformerArchitecture& shape = architecture.encoder;
  shape.family = "vit";
  shape.layers = reader.size({"num_hidden_layers"}, most_layers);
  shape.hidden = reader.size({"hidden_size"}, widest);
  shape.heads = shape.key_value_heads = reader.size({"num_attention_heads"}, widest);
  shape.feed_forward = reader.size({"intermediate_size"}, widest);
  shape.positions = Positions::learned;
  shape.activation = read_activation(reader, {"hidden_act"}, Activation::gelu);
  shape.fused_qkv = true;
  shape.qkv_bias = reader.flag_or({"qkv_bias"}, true);
  shape.attention_output_bias = shape.mlp_bias = true;
  shape.causal = false;
  shape.attention_dropout = reader.share_or({"attention_probs_dropout_prob"}, 0);
  shape.hidden_dropout = shape.embedding_dropout = reader.share_or({"hidden_dropout_prob"}, 0);
  architecture.patch_size = reader.size_or({"patch_size"}, 16, 10'000);
  architecture.image_size = reader.size_or({"image_size"}, 224, 100'000);
  architecture.classes = reader.size_or({"num_labels"}, 1000, widest);
  if (architecture.image_size % architecture.patch_size != 0) {
    reader.fault({"patch_size"},
                 "patches of " + std::to_string(architecture.patch_size) + " do not divide an image of " +
                     std::to_string(architecture.image_size),
                 "expected a divisor of image_size");
  }
  finish_heads(reader, shape, {"hidden_size"}, {"num_attention_heads"}, {});
  return architecture;
}

Architecture read_resnet(ConfigReader& reader) {
  ResnetArchitecture shape;
  shape.image_size = reader.size_or({"image_size"}, 224, 100'000);
  shape.classes = reader.size_or({"num_labels"}, 1000, widest);
  const std::string kind = reader.text_or({"layer_type"}, "bottleneck");
  if (kind != "bottleneck") {
    reader.fault({"layer_type"}, "layer_type \"" + kind + "\" is not built yet", "expected \"bottleneck\"");
  }
  const Value* depths = reader.value({"depths"});
  if (depths == nullptr || depths->kind != Value::Kind::array || depths->array.empty() ||
      depths->array.size() > 8) {
    reader.fault({"depths"}, "\"depths\" must list the blocks of each stage", "for example [3, 4, 6, 3]");
    return shape;
  }
  for (const Value& depth : depths->array) {
    if (depth.kind != Value::Kind::integer || depth.integer < 1 || depth.integer > most_layers) {
      reader.fault({"depths"}, "every stage must have at least one block, not " + depth.to_text());
      break;
    }
    shape.depths.push_back(depth.integer);
  }
  return shape;
}

/// No class of Hugging Face's: the keys are those that their configurations use for the same things.
Architecture read_mlp(ConfigReader& reader) {
  MlpArchitecture shape;
  shape.inputs = reader.size({"input_size"}, widest);
  shape.hidden = reader.size({"hidden_size"}, widest);
  shape.layers = reader.size({"num_hidden_layers"}, most_layers);
  shape.classes = reader.size({"num_labels"}, widest);
  shape.activation = read_activation(reader, {"hidden_act"}, Activation::gelu);
  if (shape.activation == Activation::silu)
    reader.fault({"hidden_act"}, "an mlp's activation must be gelu or relu");
  return shape;
}

}  // namespace stepcast::config
