#pragma once

#include <string>

#include "models/architecture.hpp"
#include "models/layer_builder.hpp"

namespace stepcast {

/// A norm outside the blocks; its parameters are MODULE.weight and, with norm_bias, MODULE.bias.
Operator& add_norm(LayerBuilder& layer, const TransformerArchitecture& shape,
                   const std::string& operator_name, const std::string& module, double tokens);

/// The product with the vocabulary and the loss, over `rows` tokens. Without a weight of its own the product
/// uses the embedding's, which gets the gradient.
void add_logits(LayerBuilder& layer, const TransformerArchitecture& shape, double rows, bool own_weight);

/// Sums, scalings and dropout need none of their inputs for backward: of a chain only the last result is
/// kept.
void keep_no_elements(Operator& op);

}  // namespace stepcast
