#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "calibrate/device.hpp"

namespace stepcast {

/// Tensors that live as long as this does.
class DeviceMemory {
 public:
  explicit DeviceMemory(ComputeDevice& device) : device_(device) {}

  [[nodiscard]] Tensor take(std::int64_t elements, Dtype type) {
    if (elements <= 0) return {nullptr, 0, type};
    const auto bytes = static_cast<std::int64_t>(element_size(type)) * elements;
    held_.push_back(device_.allocate(bytes));
    return {held_.back().get(), elements, type};
  }

 private:
  ComputeDevice& device_;
  std::vector<std::shared_ptr<void>> held_;
};

}  // namespace stepcast
