#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "calibrate/device.hpp"

/// The kernels once more, as plain loops in double precision, for comparison.
namespace stepcast::reference {

using Values = std::vector<double>;

/// Normal numbers, rounded to fp32; the same for the same seed.
[[nodiscard]] Values random(std::int64_t count, std::uint64_t seed);

[[nodiscard]] Values gemm(const Values& a, bool transpose_a, const Values& b, bool transpose_b,
                          std::int64_t rows, std::int64_t columns, std::int64_t depth);
[[nodiscard]] Values gelu(const Values& x);
[[nodiscard]] Values relu(const Values& x);
[[nodiscard]] Values norm(const Values& x, const Values& weight, const Values& bias);
[[nodiscard]] Values attention(const Values& qkv, std::int64_t samples, std::int64_t length,
                               std::int64_t heads, std::int64_t head_dim, bool causal);
/// Mean over rows.
[[nodiscard]] double cross_entropy(const Values& logits, const std::vector<std::int32_t>& targets);

/// d loss / d at, by central differences of 1e-5: exact to about 1e-9 of the loss's third derivative.
[[nodiscard]] Values gradient(const std::function<double(const Values&)>& loss, Values at);
[[nodiscard]] double dot(const Values& a, const Values& b);

}  // namespace stepcast::reference
