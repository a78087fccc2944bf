#include "models/transformer_parts.hpp"

#include <utility>
#include <vector>

#include "models/counting.hpp"
#include "models/module_names.hpp"

namespace stepcast {

Operator& add_norm(LayerBuilder& layer, const TransformerArchitecture& shape,
                   const std::string& operator_name, const std::string& module, double tokens) {
  std::vector<int> parameters = {layer.parameter(module + ".weight", {shape.hidden})};
  if (shape.norm_bias) parameters.push_back(layer.parameter(module + ".bias", {shape.hidden}));
  const double width = tokens * static_cast<double>(shape.hidden);
  return layer.memory(operator_name, counting::norm(shape, width, tokens, 1, false), std::move(parameters));
}

void add_logits(LayerBuilder& layer, const TransformerArchitecture& shape, double rows, bool own_weight) {
  const double logits = rows * static_cast<double>(shape.vocabulary);
  std::vector<int> weight;
  if (own_weight) {
    const std::string module(family_names(shape.family).head);
    weight.push_back(layer.parameter(module + ".weight", {shape.vocabulary, shape.hidden}));
  }
  layer.gemm("head.logits", rows, shape.vocabulary, shape.hidden, std::move(weight), logits);
  if (shape.logits_softcap) layer.memory("head.softcap", counting::softcap(logits));
  layer.memory("loss.cross_entropy", counting::cross_entropy(logits, rows));
}

void keep_no_elements(Operator& op) { op.saved_eager.elements = op.saved_fused.elements = 0; }

}  // namespace stepcast
