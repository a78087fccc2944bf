#include "calibrate/backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "calibrate/launch/meeting.hpp"

namespace stepcast {
namespace {

TEST(CudaBackend, WhereThereIsNoGpuTheErrorSaysWhatIsMissingAndWhatToDo) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has a GPU";
  const auto meeting = meet();
  try {
    static_cast<void>(open_cuda_backend(*meeting));
    FAIL();
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), testing::AnyOf(testing::HasSubstr("has no NVIDIA driver (libcuda.so.1)"),
                                             testing::HasSubstr("built without CUDA")));
    EXPECT_FALSE(error.hint.empty());
  }
}

}  // namespace
}  // namespace stepcast
