#include "calibrate/cuda/library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/device.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> cupti{"libcupti.so.13", "libcupti.so"};

TEST(LibraryPaths, TheUsersLibraryPathComesBeforeCudaHomeAndBothBeforeTheSystem) {
  const std::map<std::string, std::string> environment{
      {"LD_LIBRARY_PATH", "/first::/second"}, {"CUDA_HOME", "/cuda"}, {"CUDA_PATH", "/other"}};
  const auto everything_exists = [](const std::string&) { return true; };
  const auto paths = library_paths({"libnccl.so.2"}, environment, everything_exists);
  EXPECT_THAT(
      paths,
      ElementsAre("/first/libnccl.so.2", "/second/libnccl.so.2", "/cuda/lib64/libnccl.so.2",
                  "/cuda/extras/CUPTI/lib64/libnccl.so.2", "/cuda/targets/x86_64-linux/lib/libnccl.so.2",
                  "/other/lib64/libnccl.so.2", "/other/extras/CUPTI/lib64/libnccl.so.2",
                  "/other/targets/x86_64-linux/lib/libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2",
                  "/usr/local/cuda/extras/CUPTI/lib64/libnccl.so.2",
                  "/usr/local/cuda/targets/x86_64-linux/lib/libnccl.so.2", "libnccl.so.2"));
}

TEST(LibraryPaths, OnlyFilesThatExistAreTriedAndTheBareNamesLast) {
  const auto only_extras = [](const std::string& path) {
    return path == "/cuda/extras/CUPTI/lib64/libcupti.so";
  };
  EXPECT_THAT(library_paths(cupti, {{"CUDA_HOME", "/cuda"}}, only_extras),
              ElementsAre("/cuda/extras/CUPTI/lib64/libcupti.so", "libcupti.so.13", "libcupti.so"));
}

TEST(SharedLibrary, AMissingLibraryIsNamedWithWhereItWasLookedForAndWhatToSet) {
  try {
    const SharedLibrary library("No such thing", {"libstepcast-no-such-thing.so"});
    FAIL();
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), HasSubstr("No such thing can't be opened"));
    EXPECT_THAT(error.what(), HasSubstr("/usr/local/cuda/lib64"));
    EXPECT_THAT(error.what(), HasSubstr("libstepcast-no-such-thing.so"));
    EXPECT_THAT(error.hint, HasSubstr("LD_LIBRARY_PATH"));
  }
}

TEST(SharedLibrary, AFunctionThatALibraryLacksIsNamed) {
  const SharedLibrary library("The C library", {"libc.so.6"});
  int (*absolute)(int) = nullptr;
  library.load(absolute, "abs");
  EXPECT_EQ(absolute(-3), 3);
  library.load_optional(absolute, "no_such_function");
  EXPECT_EQ(absolute, nullptr);
  EXPECT_THROW(library.load(absolute, "no_such_function"), MachineError);
}

}  // namespace
}  // namespace stepcast
