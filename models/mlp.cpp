#include "models/mlp.hpp"

#include <utility>

#include "models/counting.hpp"
#include "models/layer_builder.hpp"

namespace stepcast {
namespace {

Layer hidden_layer(const MlpArchitecture& shape, std::int64_t index) {
  const std::string name = "layers." + std::to_string(index);
  const std::int64_t depth = index == 0 ? shape.inputs : shape.hidden;
  const auto width = static_cast<double>(shape.hidden);
  LayerBuilder layer(name, LayerKind::block, nullptr);
  const int weight = layer.parameter("weight", {shape.hidden, depth});
  const int bias = layer.parameter("bias", {shape.hidden});
  // ReLU's backward needs its result only.
  const double kept = shape.activation == Activation::relu ? 0 : width;
  layer.gemm("fc", 1, shape.hidden, depth, {weight}, kept).gemm.input_gradient = index > 0;
  layer.memory("fc.bias", counting::bias(width), {bias});
  layer.memory("fc.activation", counting::activation(shape.activation, width)).recomputed_by_selective = true;
  return layer.build(width);
}

Layer classifier(const MlpArchitecture& shape) {
  LayerBuilder layer("head", LayerKind::head, nullptr);
  const auto classes = static_cast<double>(shape.classes);
  const int weight = layer.parameter("weight", {shape.classes, shape.hidden});
  const int bias = layer.parameter("bias", {shape.classes});
  layer.gemm("head.logits", 1, shape.classes, shape.hidden, {weight}, classes);
  layer.memory("head.logits.bias", counting::bias(classes), {bias});
  layer.memory("loss.cross_entropy", counting::cross_entropy(classes, 1));
  return layer.build(0);
}

}  // namespace

Model build_mlp(const MlpArchitecture& shape, std::string name) {
  Model model;
  model.name = std::move(name);
  model.family = "mlp";
  model.logits_elements = static_cast<double>(shape.classes);
  for (std::int64_t i = 0; i < shape.layers; ++i) model.layers.push_back(hidden_layer(shape, i));
  model.layers.push_back(classifier(shape));
  link_equal_layers(model);
  model.active_parameter_count = model.parameter_count();
  return model;
}

}  // namespace stepcast
