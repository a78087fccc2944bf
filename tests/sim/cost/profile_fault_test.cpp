// One bad file, one test: each names its place and what would be right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/cost/profile.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

class ProfileFault : public testing::Test {
 protected:
  /// Faults of a file with this text, laid over the profile of an H100.
  std::vector<Diagnostic> faults_of(const std::string& text) {
    path_ =
        std::filesystem::temp_directory_path() /
        ("stepcast-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".toml");
    std::ofstream(path_) << text;
    try {
      (void)load_profile("h100-sxm", "hgx-h100", "pytorch-eager", {path_.string()}, {"s.toml", 7, 3, 1, ""});
    } catch (const ScenarioError& error) {
      return error.diagnostics();
    }
    return {};
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::filesystem::path path_;
};

TEST_F(ProfileFault, AFigureWithoutSource) {
  const auto faults = faults_of("[gpu]\nname = \"h100-sxm\"\nmemory_rate = { value = \"3 TB/s\" }\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("gpu.memory_rate.source"));
  EXPECT_EQ(faults[0].place.line, 3U);
}

TEST_F(ProfileFault, ABareNumberInsteadOfAFigure) {
  const auto faults = faults_of("[gpu]\nname = \"h100-sxm\"\nmemory_rate = \"3 TB/s\"\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("origin"));
  EXPECT_THAT(faults[0].hint, HasSubstr("source"));
}

TEST_F(ProfileFault, AMissingUnit) {
  const auto faults =
      faults_of("[gpu]\nname = \"h100-sxm\"\nmemory_rate = { value = 3000, source = \"x\" }\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message + faults[0].hint, HasSubstr("GB/s"));
}

TEST_F(ProfileFault, AnUnknownKeyIsSuggestedItsNeighbour) {
  const auto faults =
      faults_of("[gpu]\nname = \"h100-sxm\"\nmemory_rat = { value = \"3 TB/s\", source = \"x\" }\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message + faults[0].hint, HasSubstr("memory_rate"));
}

TEST_F(ProfileFault, AnUnknownSection) {
  const auto faults = faults_of("[gpus]\nname = \"h100-sxm\"\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].place.line, 1U);
}

TEST_F(ProfileFault, ASectionWithoutName) {
  const auto faults = faults_of("[links]\nnvlink_efficiency = { value = 0.8, source = \"x\" }\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("node"));
}

TEST_F(ProfileFault, AShareAboveOne) {
  const auto faults =
      faults_of("[links]\nnode = \"hgx-h100\"\nnvlink_efficiency = { value = 80, source = \"x\" }\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].place.line, 3U);
}

TEST_F(ProfileFault, AZeroRate) {
  EXPECT_EQ(
      faults_of("[gpu]\nname = \"h100-sxm\"\nmemory_rate = { value = \"0 GB/s\", source = \"x\" }\n").size(),
      1U);
}

TEST_F(ProfileFault, PointsOutOfOrder) {
  const auto faults = faults_of(
      "[[collective]]\noperation = \"all_reduce\"\nranks = 2\nnodes = 2\nfabric = \"ethernet-1g\"\nsource = "
      "\"log\"\n"
      "points = [[\"1 MiB\", \"17 ms\"], [\"1 KiB\", \"120 us\"]]\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("ascend"));
  EXPECT_EQ(faults[0].place.line, 7U);
}

TEST_F(ProfileFault, APointWithoutUnit) {
  const auto faults = faults_of(
      "[[collective]]\noperation = \"all_reduce\"\nranks = 2\nnodes = 2\nfabric = \"ethernet-1g\"\nsource = "
      "\"log\"\n"
      "points = [[\"1024\", \"120 us\"]]\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].hint, HasSubstr("MiB"));
}

TEST_F(ProfileFault, APointOfZeroTime) {
  const auto faults = faults_of(
      "[[collective]]\noperation = \"all_reduce\"\nranks = 2\nnodes = 2\nfabric = \"ethernet-1g\"\nsource = "
      "\"log\"\n"
      "points = [[\"1 KiB\", \"0 us\"]]\n");
  EXPECT_EQ(faults.size(), 1U);
}

TEST_F(ProfileFault, AnUnknownOperation) {
  const auto faults = faults_of(
      "[[collective]]\noperation = \"allreduce\"\nranks = 2\nnodes = 2\nfabric = \"ethernet-1g\"\nsource = "
      "\"log\"\n"
      "points = [[\"1 KiB\", \"9 us\"]]\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message + faults[0].hint, HasSubstr("all_reduce"));
}

TEST_F(ProfileFault, MoreNodesThanRanks) {
  EXPECT_EQ(
      faults_of("[[collective]]\noperation = \"all_reduce\"\nranks = 2\nnodes = 4\nfabric = \"e\"\nsource = "
                "\"log\"\npoints = [[\"1 KiB\", \"9 us\"]]\n")
          .size(),
      1U);
}

TEST_F(ProfileFault, AllFaultsOfAFileAtOnceEvenInASectionThatIsNotUsed) {
  const auto faults = faults_of(
      "[gpu]\nname = \"a100-sxm-80g\"\nmemory_rate = { value = \"fast\", source = \"x\" }\n"
      "[links]\nnode = \"hgx-h100\"\nchannels = { value = 0, source = \"x\" }\n"
      "[software]\nname = \"pytorch-eager\"\nattention = { value = [\"flahs\"], source = \"x\" }\n");
  EXPECT_EQ(faults.size(), 3U);
}

TEST_F(ProfileFault, BrokenSyntaxNamesTheFileAndLine) {
  const auto faults = faults_of("[gpu\nname = 3\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].place.file, path_.string());
  EXPECT_EQ(faults[0].place.line, 1U);
}

TEST_F(ProfileFault, AMalformedTile) {
  const auto faults = faults_of(
      "[gpu]\nname = \"h100-sxm\"\n[gpu.tiles]\nsource = \"x\"\ntensor = [[128, 128, 1.0], [0, 64, 0.5]]\n");
  EXPECT_EQ(faults.size(), 1U);
}

TEST(ProfileName, AnUnknownGpuIsAFaultAtTheScenariosPlaceWithTheNearestName) {
  try {
    (void)load_profile("h100-smx", "hgx-h100", "pytorch-eager", {}, {"s.toml", 7, 3, 1, ""});
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.diagnostics().at(0).place.line, 7U);
    EXPECT_THAT(error.diagnostics().at(0).hint, HasSubstr("h100-sxm"));
  }
}

TEST(ProfileName, AnUnknownSoftwareIsAFault) {
  EXPECT_THROW((void)load_profile("h100-sxm", "hgx-h100", "pytorch", {}, {"s.toml", 7, 3, 1, ""}),
               ScenarioError);
}

// A GPU that no shipped profile knows may come whole from a file; what it lacks is listed.
TEST_F(ProfileFault, AnOwnGpuMustBeComplete) {
  path_ =
      std::filesystem::temp_directory_path() / ("stepcast-own-gpu-" + std::to_string(::getpid()) + ".toml");
  std::ofstream(path_) << "[gpu]\nname = \"my-gpu\"\nsms = { value = 50, source = \"x\" }\n";
  try {
    (void)load_profile("my-gpu", "hgx-h100", "pytorch-eager", {path_.string()}, {"s.toml", 7, 3, 1, ""});
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_GT(error.diagnostics().size(), 5U);
    EXPECT_THAT(error.diagnostics().at(0).message, HasSubstr("gpu.memory_capacity"));
  }
}

}  // namespace
}  // namespace stepcast
