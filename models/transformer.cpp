#include "models/transformer.hpp"

#include <utility>

#include "models/counting.hpp"
#include "models/layer_builder.hpp"
#include "models/module_names.hpp"
#include "models/transformer_block.hpp"
#include "models/transformer_parts.hpp"

namespace stepcast {
namespace {

Layer embedding_layer(const TransformerArchitecture& shape, std::int64_t length) {
  const FamilyNames& names = family_names(shape.family);
  LayerBuilder layer(std::string(names.embedding), LayerKind::embedding, nullptr);
  const auto tokens = static_cast<double>(length);
  const double width = tokens * static_cast<double>(shape.hidden);

  Operator* last = &layer.memory(
      "embedding.tokens",
      counting::embedding(width, tokens, static_cast<double>(shape.vocabulary * shape.hidden)),
      {layer.parameter(std::string(names.embedding) + ".weight", {shape.vocabulary, shape.hidden})});
  const auto append = [&](Operator& op) { last = &op; };
  if (shape.scaled_embedding) {
    keep_no_elements(*last);
    append(layer.memory("embedding.scale", counting::scale(width)));
  }
  if (shape.positions == Positions::learned) {
    keep_no_elements(*last);
    const std::int64_t rows =
        (shape.positions_follow_sequence ? length : shape.max_positions) + shape.position_offset;
    append(layer.memory("embedding.positions", counting::added_embedding(width),
                        {layer.parameter(std::string(names.positions) + ".weight", {rows, shape.hidden})}));
  }
  if (shape.token_types > 0) {
    keep_no_elements(*last);
    append(layer.memory(
        "embedding.token_types", counting::added_embedding(width),
        {layer.parameter(std::string(names.token_types) + ".weight", {shape.token_types, shape.hidden})}));
  }
  if (shape.embedding_norm) {
    append(add_norm(layer, shape, "embedding.norm", std::string(names.embedding_norm), tokens));
  }
  if (shape.embedding_dropout > 0) {
    keep_no_elements(*last);
    append(layer.memory("embedding.dropout", counting::dropout(width)));
  }
  return layer.build(width);
}

Layer causal_head(const TransformerArchitecture& shape, double tokens) {
  const FamilyNames& names = family_names(shape.family);
  LayerBuilder layer(std::string(names.head), LayerKind::head, nullptr);
  if (shape.final_norm) add_norm(layer, shape, "head.norm", std::string(names.final_norm), tokens);
  add_logits(layer, shape, tokens * shape.predicted_share, !shape.tied_embeddings);
  return layer.build(0);
}

Layer encoder_head(const TransformerArchitecture& shape, double tokens) {
  const FamilyNames& names = family_names(shape.family);
  LayerBuilder layer(std::string(names.head), LayerKind::head, nullptr);
  const auto hidden = static_cast<double>(shape.hidden);
  if (shape.pooler) {
    const std::string module(names.pooler);
    layer.gemm("pooler.dense", 1, shape.hidden, shape.hidden,
               {layer.parameter(module + ".weight", {shape.hidden, shape.hidden})}, 0);
    layer.memory("pooler.dense.bias", counting::bias(hidden),
                 {layer.parameter(module + ".bias", {shape.hidden})});
    layer.memory("pooler.activation", counting::activation(Activation::relu, hidden));
  }
  if (shape.masked_language_head) {
    const double rows = tokens * shape.predicted_share;
    const double width = rows * hidden;
    layer.gemm("head.transform", rows, shape.hidden, shape.hidden, {}, width);
    layer.memory("head.activation", counting::activation(shape.activation, width));
    layer.memory("head.norm", counting::norm(shape, width, rows, 1, false));
    add_logits(layer, shape, rows, false);
  }
  return layer.build(0);
}

/// Parameters less those of the experts that a token does not visit.
std::int64_t active_parameters(const TransformerArchitecture& shape, const Model& model) {
  std::int64_t expert_parameters = 0;
  for (const Layer& layer : model.layers) {
    for (const Parameter& parameter : layer.parameters) {
      if (parameter.expert) expert_parameters += parameter.count();
    }
  }
  if (shape.experts == 0) return model.parameter_count();
  return model.parameter_count() -
         expert_parameters / shape.experts * (shape.experts - shape.experts_per_token);
}

}  // namespace

Model build_transformer(const TransformerArchitecture& shape, std::string name, std::int64_t tokens) {
  Model model;
  model.name = std::move(name);
  model.family = shape.family;
  model.tied_head = shape.tied_embeddings;
  model.sequence_length = tokens;
  model.vocabulary = shape.vocabulary;
  const auto length = static_cast<double>(tokens);
  const bool has_logits = !shape.pooler || shape.masked_language_head;
  model.logits_elements =
      has_logits ? length * shape.predicted_share * static_cast<double>(shape.vocabulary) : 0;

  model.layers.reserve(static_cast<std::size_t>(shape.layers) + 2);
  model.layers.push_back(embedding_layer(shape, tokens));
  // Blocks differ by window and by experts only; each kind is built once.
  std::vector<std::size_t> built;
  const std::string prefix(family_names(shape.family).block);
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    std::size_t same = 0;
    for (const std::size_t candidate : built) {
      const auto other = static_cast<std::int64_t>(candidate) - 1;
      if (shape.is_sparse(other) == shape.is_sparse(i) && shape.window_of(other) == shape.window_of(i)) {
        same = candidate;
      }
    }
    if (same > 0) {
      model.layers.push_back(model.layers[same]);
      model.layers.back().name = prefix + std::to_string(i);
    } else {
      built.push_back(model.layers.size());
      model.layers.push_back(transformer_block(shape, i, tokens));
    }
  }
  model.layers.push_back(shape.pooler ? encoder_head(shape, length) : causal_head(shape, length));
  link_equal_layers(model);
  model.active_parameter_count = active_parameters(shape, model);
  return model;
}

}  // namespace stepcast
