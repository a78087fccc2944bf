#pragma once

#include "calibrate/device.hpp"

namespace stepcast {

/// The device whose kernels kernels_test.cpp compares with the host's; null where there is none, which skips.
ComputeDevice* device_under_test();

}  // namespace stepcast
