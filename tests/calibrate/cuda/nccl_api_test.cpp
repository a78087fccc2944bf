#include "calibrate/cuda/nccl_api.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/cuda/nccl_profiler.hpp"
#include "calibrate/device.hpp"

namespace stepcast {
namespace {

TEST(NcclApi, AnInstalledLibraryHasWhatIsNeededAndTellsItsVersion) {
  try {
    const NcclApi api;
    EXPECT_THAT(api.version(), testing::MatchesRegex("2\\.[0-9]+\\.[0-9]+"));
  } catch (const MachineError& error) {
    GTEST_SKIP() << "NCCL is not installed: " << error.what();
  }
}

TEST(NcclProfiler, TheProgramExportsItAndWhatItIsToldCanBeReadOnce) {
  // As NCCL finds it: by name, in the program itself. Layout: interface version 2 of ext-profiler.
  struct Profiler {
    const char* name;
    ncclResult_t (*init)(void**, int*);
    ncclResult_t (*start)(void*, void**, void*);
  };
  const auto* profiler = static_cast<const Profiler*>(dlsym(RTLD_DEFAULT, "ncclProfiler_v2"));
  ASSERT_NE(profiler, nullptr);
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(profiler->init(&context, &mask), ncclSuccess);
  EXPECT_NE(context, nullptr);
  EXPECT_EQ(mask, 2);  // ncclProfileColl

  struct Collective {
    std::uint8_t type = 2;
    void* parent = nullptr;
    int rank = 0;
    const char* communicator_name = nullptr;
    std::uint64_t communicator = 0, sequence_number = 1;
    const char* function = "AllReduce";
    const void* send_buffer = nullptr;
    void* receive_buffer = nullptr;
    std::size_t count = 1024;
    int root = 0;
    const char* datatype = "ncclFloat32";
    std::size_t traffic_bytes = 0;
    std::uint8_t channels = 24, warps = 16;
    const char* algorithm = "NVLS_TREE";
    const char* protocol = "SIMPLE";
  } collective;
  void* event = nullptr;
  ASSERT_EQ(profiler->start(context, &event, &collective), ncclSuccess);
  const auto told = take_collective_event();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->algorithm, "nvls_tree");
  EXPECT_EQ(told->protocol, "Simple");
  EXPECT_EQ(told->channels, 24);
  EXPECT_FALSE(take_collective_event().has_value());
}

}  // namespace
}  // namespace stepcast
