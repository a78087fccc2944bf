#include "sim/validate/model_flops.hpp"

#include <string>

namespace stepcast {
namespace {

double needed(const MeasuredRow& row, std::string_view column) {
  const auto value = row.number(column);
  if (!value) throw SkippedRow{"TFLOP/s can't be converted: " + std::string(column) + " is empty"};
  return *value;
}

/// `per_pass`: 24 for each pass over the weights (forward 1, backward 2, recomputation 1).
Flop megatron(const MeasuredRow& row, double s, double passes) {
  const double layers = needed(row, "layers"), h = needed(row, "hidden"), vocabulary = needed(row, "vocab");
  // Logits are never recomputed: 6 s h V in both forms, hence 12 and 16 in the denominators.
  return Flop(24 * passes * s * layers * h * h * (1 + s / (6 * h)) + 6 * s * h * vocabulary);
}

}  // namespace

std::optional<Flop> flops_by_formula(std::string_view formula, const MeasuredRow& row, double tokens) {
  if (formula == "6N+12Lhs" || formula == "6N+6Lhs") {
    const double attention = formula == "6N+12Lhs" ? 12 : 6;
    const double per_token =
        6e9 * needed(row, "params_b") + attention * needed(row, "layers") * needed(row, "hidden") * tokens;
    return Flop(per_token * tokens);
  }
  if (formula == "megatron") return megatron(row, tokens, 3);
  if (formula == "megatron with recomputation") return megatron(row, tokens, 4);
  return std::nullopt;
}

}  // namespace stepcast
