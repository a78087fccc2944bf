#include "calibrate/cuda/device_name.hpp"

#include <cctype>
#include <utility>

namespace stepcast {
namespace {

// Drivers name server GPUs in several ways; those that the general rule gets wrong. The driver's name begins
// with the text on the left, after the general rule; a name in full ends in '$'.
constexpr std::pair<std::string_view, std::string_view> server_gpus[] = {
    {"a100-pcie-40gb", "a100-pcie-40g"},
    {"a100-80gb-pcie", "a100-pcie-80g"},
    {"a100-sxm4-40gb", "a100-sxm-40g"},
    {"a100-sxm4-80gb", "a100-sxm-80g"},
    {"a100-sxm-80gb", "a100-sxm-80g"},
    {"a800-sxm4-80gb", "a800-sxm-80g"},
    {"b200$", "b200-sxm"},
    {"gb200", "gb200"},
    {"gh200", "gh200"},
    {"h100-80gb-hbm3", "h100-sxm"},
    {"h200$", "h200-sxm"},
    {"h800$", "h800-sxm"},
    {"v100-pcie", "v100-pcie"},
    {"v100-sxm2-16gb", "v100-sxm2-16g"},
    {"v100-sxm2-32gb", "v100-sxm2-32g"},
    {"v100-sxm3-32gb", "v100-sxm3-32g"},
};

std::string dashed(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      result += static_cast<char>(std::tolower(letter));
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  while (!result.empty() && result.back() == '-') result.pop_back();
  for (const std::string_view brand : {"nvidia-", "geforce-", "tesla-"}) {
    if (result.starts_with(brand)) result.erase(0, brand.size());
  }
  return result;
}

}  // namespace

std::string gpu_profile_name(std::string_view driver_name) {
  const std::string name = dashed(driver_name);
  for (const auto& [pattern, profile] : server_gpus) {
    const bool matches = pattern.back() == '$' ? name + "$" == pattern : name.starts_with(pattern);
    if (matches) return std::string(profile);
  }
  return name;
}

}  // namespace stepcast
