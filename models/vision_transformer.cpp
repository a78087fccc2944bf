#include "models/vision_transformer.hpp"

#include <utility>

#include "models/counting.hpp"
#include "models/layer_builder.hpp"
#include "models/transformer_block.hpp"
#include "models/transformer_parts.hpp"

namespace stepcast {
namespace {

Layer patch_layer(const VisionTransformerArchitecture& shape, std::int64_t tokens) {
  const std::int64_t hidden = shape.encoder.hidden;
  const std::int64_t side = shape.image_size / shape.patch_size;
  const double patches = static_cast<double>(side * side * hidden);
  const double width = static_cast<double>(tokens * hidden);
  LayerBuilder layer("conv_proj", LayerKind::embedding, nullptr);
  const int class_token = layer.parameter("class_token", {1, 1, hidden});
  Operator op;
  op.name = "embedding.patches";
  op.kind = OperatorKind::convolution;
  ConvolutionWork& work = op.convolution;
  work.in_channels = 3;
  work.out_channels = hidden;
  work.kernel = work.stride = shape.patch_size;
  work.in_height = work.in_width = shape.image_size;
  work.out_height = work.out_width = side;
  work.input_gradient = false;
  op.parameters = {layer.parameter("conv_proj.weight", {hidden, 3, shape.patch_size, shape.patch_size})};
  layer.add(std::move(op));
  layer.memory("embedding.patches.bias", counting::bias(patches),
               {layer.parameter("conv_proj.bias", {hidden})});
  // Patches behind the class token: one copy, like a scaling.
  keep_no_elements(layer.memory("embedding.class_token", counting::scale(width), {class_token}));
  Operator& sum = layer.memory("embedding.positions", counting::added_embedding(width),
                               {layer.parameter("encoder.pos_embedding", {1, tokens, hidden})});
  if (shape.encoder.embedding_dropout > 0) {
    keep_no_elements(sum);
    layer.memory("embedding.dropout", counting::dropout(width));
  }
  return layer.build(width);
}

Layer classifier(const VisionTransformerArchitecture& shape, double tokens) {
  LayerBuilder layer("heads.head", LayerKind::head, nullptr);
  const auto classes = static_cast<double>(shape.classes);
  add_norm(layer, shape.encoder, "head.norm", "encoder.ln", tokens);
  layer.gemm("head.logits", 1, shape.classes, shape.encoder.hidden,
             {layer.parameter("heads.head.weight", {shape.classes, shape.encoder.hidden})}, classes);
  layer.memory("head.logits.bias", counting::bias(classes),
               {layer.parameter("heads.head.bias", {shape.classes})});
  layer.memory("loss.cross_entropy", counting::cross_entropy(classes, 1));
  return layer.build(0);
}

}  // namespace

Model build_vision_transformer(const VisionTransformerArchitecture& shape, std::string name) {
  const std::int64_t side = shape.image_size / shape.patch_size;
  const std::int64_t tokens = side * side + 1;
  Model model;
  model.name = std::move(name);
  model.family = "vit";
  model.logits_elements = static_cast<double>(shape.classes);
  model.layers.push_back(patch_layer(shape, tokens));
  for (std::int64_t i = 0; i < shape.encoder.layers; ++i) {
    model.layers.push_back(transformer_block(shape.encoder, i, tokens));
  }
  model.layers.push_back(classifier(shape, static_cast<double>(tokens)));
  link_equal_layers(model);
  model.active_parameter_count = model.parameter_count();
  return model;
}

}  // namespace stepcast
