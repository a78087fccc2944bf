#pragma once

#include <string>
#include <string_view>

namespace stepcast {

/// The name of the [gpu] section for what the driver calls a GPU: "NVIDIA H100 80GB HBM3" is h100-sxm. A card
/// without a preset gets its name in lower case with dashes, without maker and brand.
[[nodiscard]] std::string gpu_profile_name(std::string_view driver_name);

}  // namespace stepcast
