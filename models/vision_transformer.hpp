#pragma once

#include <string>

#include "models/architecture.hpp"
#include "models/model.hpp"

namespace stepcast {

/// Patches by a convolution, class token and positions, encoder blocks over (image / patch)^2 + 1 tokens,
/// classifier. Source: torchvision.models.vit_l_16 (304,326,632 parameters).
[[nodiscard]] Model build_vision_transformer(const VisionTransformerArchitecture& shape, std::string name);

}  // namespace stepcast
