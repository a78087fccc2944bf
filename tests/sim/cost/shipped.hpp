#pragma once

#include <string>

#include "sim/cost/cost.hpp"

namespace stepcast {

/// Shipped profiles without a scenario around them.
inline Profile shipped(const std::string& gpu, const std::string& software = "pytorch-compiled",
                       const std::string& node = "hgx-h100") {
  return load_profile(gpu, node, software, {}, {"test", 0, 0, 1, ""});
}

inline Operator linear(double rows, std::int64_t columns, std::int64_t depth) {
  Operator op;
  op.name = "linear";
  op.kind = OperatorKind::gemm;
  op.gemm.rows = rows;
  op.gemm.columns = columns;
  op.gemm.depth = depth;
  return op;
}

inline Operator self_attention(std::int64_t heads, std::int64_t head_dim, std::int64_t length, bool causal) {
  Operator op;
  op.name = "attention.core";
  op.kind = OperatorKind::attention;
  op.attention = {heads, heads, head_dim, head_dim, length, length, 0, causal, 0};
  return op;
}

}  // namespace stepcast
