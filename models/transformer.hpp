#pragma once

#include <cstdint>
#include <string>

#include "models/architecture.hpp"
#include "models/model.hpp"

namespace stepcast {

/// Embeddings, blocks and head of a transformer for sequences of `tokens` tokens.
/// A head tied to the embedding has no parameter: its gradient arrives in the embedding's weight.
/// BERT's head is the pooler and, on `predicted_share` of the tokens, the masked-language transform, decoder
/// and loss; their 0.3 % of parameters are left out, so that the count is that of the encoder with pooler.
[[nodiscard]] Model build_transformer(const TransformerArchitecture& shape, std::string name,
                                      std::int64_t tokens);

}  // namespace stepcast
