#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "calibrate/device.hpp"

namespace stepcast {

/// @throws MachineError saying what was tried, unless `status` is success
inline void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw MachineError(std::string("CUDA can't ") + what + ": " + cudaGetErrorString(status));
}

}  // namespace stepcast
