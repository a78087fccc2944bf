#pragma once

#include <cstdint>

#include "models/architecture.hpp"
#include "models/model.hpp"

namespace stepcast {

/// One transformer block of a sequence of `tokens`, its operators in forward order, named attention.* and
/// mlp.*. A bias has an operator of its own: its forward rides in the product's epilogue, its gradient is a
/// column sum. Norms, activations and the experts' gather are marked for selective recomputation; of the
/// products every second one, and the sum that needs it, for the alternate form.
[[nodiscard]] Layer transformer_block(const TransformerArchitecture& shape, std::int64_t index,
                                      std::int64_t tokens);

}  // namespace stepcast
