#pragma once

#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "sim/validate/measured_row.hpp"

namespace stepcast {

/// FLOPs that a source counts for one sequence of `tokens` tokens, forward and backward, by its own formula:
///
///     6N+12Lhs                      (6 N + 12 L h s) s               llm-foundry, nanoGPT, PaLM (not halved
///     for causality) 6N+6Lhs                       (6 N +  6 L h s) s               llm.c (halved) megatron
///     72 s L h^2 (1 + s / 6h + V / 12 L h) megatron with recomputation   96 s L h^2 (1 + s / 6h + V / 16 L
///     h)
///
/// with N parameters, L layers, h hidden size, s tokens, V vocabulary.
/// Source: facts of each code base (mosaicml/llm-foundry modeling_mpt.py; karpathy/nanoGPT model.py;
/// karpathy/llm.c train_gpt2.cu); Narayanan et al., arXiv 2104.04473, section 5.1 (the 96-formula, which
/// counts recomputation).
/// @return nothing for a formula that is not known
/// @throws SkippedRow when a column that the formula needs (params_b, layers, hidden, vocab) is empty
[[nodiscard]] std::optional<Flop> flops_by_formula(std::string_view formula, const MeasuredRow& row,
                                                   double tokens);

}  // namespace stepcast
