#pragma once

#include <string>

#include "models/architecture.hpp"
#include "models/model.hpp"

namespace stepcast {

/// ResNet with bottleneck blocks, v1.5: the stride of a stage stands on the 3x3 convolution. Stem, one layer
/// a residual block, and the classifier. BatchNorm statistics are buffers (two fp32 a channel and a counter
/// of 8 bytes), which DDP broadcasts. Source: torchvision.models.resnet (depths 3, 4, 6, 3: 25,557,032
/// parameters).
[[nodiscard]] Model build_resnet(const ResnetArchitecture& shape, std::string name);

}  // namespace stepcast
