#pragma once

#include <string_view>

namespace stepcast {

/// What a GPU's time goes into.
enum class KernelClass { gemm, attention, convolution, collective, memory_bound, copy, other };
constexpr int kernel_classes = 7;

/// "gemm", ..., "memory_bound", "copy", "other".
[[nodiscard]] std::string_view name_of(KernelClass kind);

/// By the names that cuBLAS, cuDNN, CUTLASS, NCCL, PyTorch and Triton give to kernels. Copies and fills that
/// the driver does have no kernel's name; "other" is what no pattern matches.
[[nodiscard]] KernelClass kernel_class(std::string_view kernel);

/// How a product's operands lie, row-major, by its kernel's name: "nn", "nt", "tn", "tt"; "" when the name
/// does not tell. cuBLAS computes column-major, so that it names them the other way round and swapped:
/// "..._tn" of cuBLAS is a row-major product with the second operand transposed.
[[nodiscard]] std::string_view row_major_layout(std::string_view kernel);

}  // namespace stepcast
