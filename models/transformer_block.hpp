#pragma once

#include <cstdint>

#include "models/architecture.hpp"
#include "models/model.hpp"

namespace stepcast {

/// What a block has beyond what its architecture says of all of them.
struct BlockExtras {
  std::int64_t cross_tokens{};      ///< T5's decoder: also attends to an encoder's result of this length
  std::int64_t relative_buckets{};  ///< first block of a T5 stack: makes the bias of all its blocks' scores
  bool closing_norm{};              ///< last block of T5's encoder: a norm, then dropout
};

/// One transformer block of a sequence of `tokens`, its operators in forward order, named attention.*,
/// cross.* and mlp.*. A bias has an operator of its own: its forward rides in the product's epilogue, its
/// gradient is a column sum. Norms, activations and the experts' gather are marked for selective
/// recomputation; of the products every second one, and the sum that needs it, for the alternate form.
[[nodiscard]] Layer transformer_block(const TransformerArchitecture& shape, std::int64_t index,
                                      std::int64_t tokens, const BlockExtras& extras = {});

}  // namespace stepcast
