#include "calibrate/import/kernel_class.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace stepcast {
namespace {

using Pattern = std::pair<std::string_view, KernelClass>;

/// The first one that occurs in a name in small letters decides: attention comes before the products that it
/// is made of, convolutions before the implicit products that compute them.
constexpr auto patterns = std::to_array<Pattern>({
    {"nccl", KernelClass::collective},
    {"nvshmem", KernelClass::collective},
    {"flash", KernelClass::attention},
    {"fmha", KernelClass::attention},
    {"sdpa", KernelClass::attention},
    {"attention", KernelClass::attention},
    {"bn_bw", KernelClass::memory_bound},  // cuDNN's batch norm
    {"bn_fw", KernelClass::memory_bound},
    {"nchwtonhwc", KernelClass::memory_bound},
    {"nhwctonchw", KernelClass::memory_bound},
    {"implicit_gemm", KernelClass::convolution},
    {"implicitgemm", KernelClass::convolution},
    {"winograd", KernelClass::convolution},
    {"convolve", KernelClass::convolution},
    {"convolution", KernelClass::convolution},
    {"conv2d", KernelClass::convolution},
    {"conv3d", KernelClass::convolution},
    {"conv_depthwise", KernelClass::convolution},
    {"conv1d", KernelClass::convolution},
    {"fprop", KernelClass::convolution},
    {"dgrad", KernelClass::convolution},
    {"wgrad", KernelClass::convolution},
    {"scudnn", KernelClass::convolution},
    {"cask_cudnn", KernelClass::convolution},
    {"fft2d", KernelClass::convolution},  // cuDNN's convolutions by FFT, as gcgemm below
    {"gcgemm", KernelClass::convolution},
    {"triton_tem", KernelClass::gemm},  // inductor's template kernels are products
    {"triton_", KernelClass::memory_bound},
    {"elementwise", KernelClass::memory_bound},
    {"multi_tensor", KernelClass::memory_bound},
    {"gemm", KernelClass::gemm},
    {"gemv", KernelClass::gemm},
    {"nvjet", KernelClass::gemm},
    {"splitkreduce", KernelClass::gemm},
    {"cutlass", KernelClass::gemm},
    {"xmma", KernelClass::gemm},
    {"cublas", KernelClass::gemm},
    {"norm", KernelClass::memory_bound},
    {"softmax", KernelClass::memory_bound},
    {"reduce", KernelClass::memory_bound},
    {"vectorized", KernelClass::memory_bound},
    {"at::native", KernelClass::memory_bound},
    {"epilogue", KernelClass::memory_bound},
    {"adam", KernelClass::memory_bound},
    {"embedding", KernelClass::memory_bound},
    {"embs", KernelClass::memory_bound},
    {"permute", KernelClass::memory_bound},
    {"transpose", KernelClass::memory_bound},
    {"dropout", KernelClass::memory_bound},
    {"gelu", KernelClass::memory_bound},
    {"relu", KernelClass::memory_bound},
    {"silu", KernelClass::memory_bound},
    {"swiglu", KernelClass::memory_bound},
    {"rotary", KernelClass::memory_bound},
    {"quantize", KernelClass::memory_bound},
    {"pool", KernelClass::memory_bound},
    {"copy", KernelClass::memory_bound},
    {"fill", KernelClass::memory_bound},
    {"scatter", KernelClass::memory_bound},
    {"gather", KernelClass::memory_bound},
    {"index", KernelClass::memory_bound},
    {"sort", KernelClass::memory_bound},
    {"scan", KernelClass::memory_bound},
    {"concat", KernelClass::memory_bound},
    {"loss", KernelClass::memory_bound},
});

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

}  // namespace

std::string_view name_of(KernelClass kind) {
  switch (kind) {
    case KernelClass::gemm:
      return "gemm";
    case KernelClass::attention:
      return "attention";
    case KernelClass::convolution:
      return "convolution";
    case KernelClass::collective:
      return "collective";
    case KernelClass::memory_bound:
      return "memory_bound";
    case KernelClass::copy:
      return "copy";
    case KernelClass::other:
      return "other";
  }
  return "other";
}

KernelClass kernel_class(std::string_view kernel) {
  std::string small = in_small_letters(kernel);
  // A library of embedding kernels, whose name is in the types of their arguments.
  constexpr std::string_view library = "fbgemm";
  for (std::size_t at = small.find(library); at != std::string::npos; at = small.find(library, at))
    small.erase(at, library.size());
  for (const auto& [text, kind] : patterns)
    if (small.find(text) != std::string::npos) return kind;
  return KernelClass::other;
}

std::string_view row_major_layout(std::string_view kernel) {
  const std::string small = in_small_letters(kernel);
  constexpr auto layouts = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"nn", "nn"}, {"tn", "nt"}, {"nt", "tn"}, {"tt", "tt"}});
  const bool nvjet = small.find("nvjet") != std::string::npos;  // its last three letters: "..._tnt"
  for (const auto& [theirs, ours] : layouts) {
    const std::string word = "_" + std::string(theirs);
    for (std::size_t at = small.find(word); at != std::string::npos; at = small.find(word, at + 1)) {
      const std::size_t after = at + word.size();
      const bool ends = after == small.size() || std::isalnum(static_cast<unsigned char>(small[after])) == 0;
      const bool one_more = nvjet && after + 1 == small.size();
      if (ends || one_more) return ours;
    }
  }
  return "";
}

}  // namespace stepcast
