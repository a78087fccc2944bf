#include "models/encoder_decoder.hpp"

#include <cmath>
#include <utility>

#include "models/counting.hpp"
#include "models/layer_builder.hpp"
#include "models/module_names.hpp"
#include "models/transformer_block.hpp"
#include "models/transformer_parts.hpp"

namespace stepcast {
namespace {

Layer embedding_layer(const TransformerArchitecture& shape, double tokens, double targets) {
  LayerBuilder layer("shared", LayerKind::embedding, nullptr);
  const auto hidden = static_cast<double>(shape.hidden);
  const auto table = static_cast<double>(shape.vocabulary * shape.hidden);
  const int weight = layer.parameter("shared.weight", {shape.vocabulary, shape.hidden});
  // The table's gradient is complete when the encoder's look-up, the last in backward, has added its part.
  Operator& encoder =
      layer.memory("embedding.tokens", counting::embedding(tokens * hidden, tokens, table), {weight});
  if (shape.embedding_dropout > 0) {
    keep_no_elements(encoder);
    layer.memory("embedding.dropout", counting::dropout(tokens * hidden));
  }
  Operator& decoder =
      layer.memory("embedding.targets", counting::embedding(targets * hidden, targets, table));
  if (shape.embedding_dropout > 0) {
    keep_no_elements(decoder);
    layer.memory("embedding.target_dropout", counting::dropout(targets * hidden));
  }
  return layer.build((tokens + targets) * hidden);
}

Layer head_layer(const TransformerArchitecture& shape, double targets) {
  LayerBuilder layer("lm_head", LayerKind::head, nullptr);
  add_norm(layer, shape, "head.norm", "decoder.final_layer_norm", targets);
  if (shape.hidden_dropout > 0) {
    layer.memory("head.dropout", counting::dropout(targets * static_cast<double>(shape.hidden)));
  }
  add_logits(layer, shape, targets, !shape.tied_embeddings);
  return layer.build(0);
}

}  // namespace

Model build_encoder_decoder(const EncoderDecoderArchitecture& shape, std::string name, std::int64_t tokens) {
  const auto targets = static_cast<std::int64_t>(std::ceil(static_cast<double>(tokens) * shape.target_share));
  const std::string suffix = shape.stack.gated ? "_gated" : "";
  TransformerArchitecture encoder = shape.stack;
  encoder.family = "t5_encoder" + suffix;
  encoder.causal = false;
  TransformerArchitecture decoder = shape.stack;
  decoder.family = "t5_decoder" + suffix;
  decoder.layers = shape.decoder_layers;

  Model model;
  model.name = std::move(name);
  model.family = "t5";
  model.tied_head = shape.stack.tied_embeddings;
  model.sequence_length = tokens;
  model.vocabulary = shape.stack.vocabulary;
  model.logits_elements = static_cast<double>(targets) * static_cast<double>(shape.stack.vocabulary);

  model.layers.push_back(embedding_layer(decoder, static_cast<double>(tokens), static_cast<double>(targets)));
  for (std::int64_t i = 0; i < encoder.layers; ++i) {
    BlockExtras extras;
    if (i == 0) extras.relative_buckets = shape.relative_buckets;
    extras.closing_norm = i + 1 == encoder.layers;
    model.layers.push_back(transformer_block(encoder, i, tokens, extras));
  }
  for (std::int64_t i = 0; i < decoder.layers; ++i) {
    BlockExtras extras;
    if (i == 0) extras.relative_buckets = shape.relative_buckets;
    extras.cross_tokens = tokens;
    model.layers.push_back(transformer_block(decoder, i, targets, extras));
  }
  model.layers.push_back(head_layer(decoder, static_cast<double>(targets)));
  link_equal_layers(model);
  model.active_parameter_count = model.parameter_count();
  return model;
}

}  // namespace stepcast
