#include "gpu_device.hpp"

#include <iostream>

#include "device_under_test.hpp"

namespace stepcast {
namespace {

struct OnGpu {
  std::unique_ptr<Meeting> meeting = meet();
  std::unique_ptr<Backend> backend = open_cuda_backend(*meeting);
};

}  // namespace

Backend* gpu_backend() {
  static const std::unique_ptr<OnGpu> opened = [] {
    try {
      return std::make_unique<OnGpu>();
    } catch (const MachineError& error) {
      std::cerr << "tests on a GPU are skipped: " << error.what() << "\n";
      return std::unique_ptr<OnGpu>();
    }
  }();
  return opened ? opened->backend.get() : nullptr;
}

ComputeDevice* device_under_test() {
  Backend* backend = gpu_backend();
  return backend ? &backend->device() : nullptr;
}

}  // namespace stepcast
