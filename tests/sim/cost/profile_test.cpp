#include "sim/cost/profile.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>

#include "base/document.hpp"
#include "base/embedded.hpp"
#include "shipped.hpp"

namespace stepcast {

std::span<const EmbeddedFile> gpu_profile_files();
std::span<const EmbeddedFile> link_profile_files();
std::span<const EmbeddedFile> software_profile_files();

namespace {

/// A profile file of its own, removed with the test.
class ProfileFile : public testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "mine.toml") {
    const auto folder =
        std::filesystem::temp_directory_path() /
        ("stepcast-profile-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder);
    const auto path = folder / name;
    std::ofstream(path) << text;
    folder_ = folder;
    return path.string();
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  static Profile load(const std::vector<std::string>& files, const std::string& gpu = "h100-sxm") {
    return load_profile(gpu, "hgx-h100", "pytorch-compiled", files, {"scenario.toml", 3, 1, 1, ""});
  }

 private:
  std::filesystem::path folder_;
};

TEST(ShippedProfiles, EveryGpuNodeAndSoftwareOfTheDesignLoads) {
  for (const char* gpu : {"v100-sxm2-16g", "v100-sxm2-32g", "v100-sxm3-32g", "a100-sxm-40g", "a100-sxm-80g",
                          "a100-pcie-40g", "a100-pcie-80g", "h100-sxm", "h100-pcie", "h200-sxm", "b200-sxm",
                          "gb200", "l4", "l40s", "a10", "rtx-4090", "cpu-host"}) {
    EXPECT_EQ(shipped(gpu).gpu.name, gpu);
  }
  for (const char* node :
       {"dgx-1-v100-16g", "dgx-1-v100-32g", "dgx-2", "dgx-a100-40g", "dgx-a100-80g", "hgx-h100", "hgx-h200",
        "hgx-b200", "gb200-nvl72", "pcie-l4", "pcie-l40s", "pcie-a10", "pcie-a100-40g", "pcie-a100-80g",
        "pcie-rtx-4090", "pcie-h100", "cpu-host"}) {
    const Profile profile = shipped("h100-sxm", "pytorch-eager", node);
    EXPECT_EQ(profile.links.node, node);
    EXPECT_TRUE(profile.notes.empty()) << profile.notes.front();
  }
  EXPECT_EQ(software_profile_names(),
            (std::vector<std::string>{"deepspeed", "megatron-core", "pytorch-compiled", "pytorch-eager",
                                      "stepcast-trainer"}));
}

TEST(ShippedProfiles, EveryEmbeddedFileLoadsUnderEverySoftware) {
  for (const std::string& gpu : gpu_profile_names()) {
    for (const std::string& software : software_profile_names())
      EXPECT_NO_THROW((void)shipped(gpu, software)) << gpu;
  }
}

/// Walks a section: every table with a `value` is a figure and needs a source; nothing but names, origins and
/// tile tables may stand outside a figure.
void expect_sources(const Value& table, const std::string& path) {
  const bool has_source = table.find("source") != nullptr;
  if (table.find("value") != nullptr) {
    ASSERT_TRUE(has_source) << path << " has no source";
    EXPECT_GT(table.find("source")->string.size(), 3U) << path;
    return;
  }
  for (const auto& [key, place, value] : table.table) {
    if (value.kind == Value::Kind::table) {
      expect_sources(value, path + "." + key);
    } else {
      const bool words =
          key == "name" || key == "node" || key == "extends" || key.find("origin") != std::string::npos;
      EXPECT_TRUE(words || has_source) << path << "." << key << " is a figure without origin";
    }
  }
}

TEST(ShippedProfiles, EveryFigureNamesItsSource) {
  int files = 0;
  for (const auto& group : {gpu_profile_files(), link_profile_files(), software_profile_files()}) {
    for (const EmbeddedFile& file : group) {
      expect_sources(parse_toml(file.text, std::string(file.name)), std::string(file.name));
      ++files;
    }
  }
  EXPECT_GE(files, 40);
}

TEST(ShippedProfiles, AchievedRatesStayBelowDatasheetPeaks) {
  for (const std::string& name : gpu_profile_names()) {
    const GpuProfile gpu = shipped(name).gpu;
    EXPECT_LT(gpu.memory_rate.value, gpu.memory_peak.value) << name;
    EXPECT_GT(gpu.memory_rate.value.value, 0.4 * gpu.memory_peak.value.value) << name;
    for (const auto& [dtype, ceiling] : gpu.gemm_ceiling) {
      EXPECT_LE(ceiling.value, name == "rtx-4090" || name == "rtx-3090" ? 1.15 : 0.9) << name;
    }
  }
}

TEST(ShippedProfiles, AttentionKernelFollowsTheGpuGeneration) {
  const auto kernel = [](const char* gpu, const char* software) {
    return shipped(gpu, software).software.attention_kernel;
  };
  EXPECT_EQ(kernel("v100-sxm2-16g", "pytorch-eager"), "eager");
  EXPECT_EQ(kernel("v100-sxm2-16g", "pytorch-compiled"), "efficient");
  EXPECT_EQ(kernel("a100-sxm-80g", "pytorch-eager"), "flash");
  EXPECT_EQ(kernel("a100-sxm-80g", "megatron-core"), "flash");
  EXPECT_EQ(kernel("h100-sxm", "pytorch-eager"), "flash");
  EXPECT_EQ(kernel("h100-sxm", "megatron-core"), "flash3");
  EXPECT_EQ(kernel("b200-sxm", "megatron-core"), "flash");
  EXPECT_EQ(kernel("cpu-host", "pytorch-compiled"), "eager");
}

TEST(ShippedProfiles, ANodeWithoutItsOwnGetsGenericLinksAndANote) {
  const Profile profile = shipped("h100-sxm", "pytorch-eager", "my-odd-box");
  EXPECT_EQ(profile.links.node, "my-odd-box");
  EXPECT_EQ(profile.links.origin, Origin::extrapolated);
  ASSERT_EQ(profile.notes.size(), 1U);
  EXPECT_NE(profile.notes[0].find("my-odd-box"), std::string::npos);
}

TEST_F(ProfileFile, OverridesFigureByFigure) {
  const std::string file = write(R"([gpu]
name = "h100-sxm"
memory_rate = { value = "2.9 TB/s", source = "calibrate", measured_on = "node 7", spread = 0.01 }
[gpu.gemm_ceiling]
bf16 = { value = 0.7, source = "calibrate" }
)");
  const Profile mine = load({file});
  const Profile theirs = load({});
  EXPECT_EQ(mine.gpu.memory_rate.value.value, 2.9e12);
  EXPECT_EQ(mine.gpu.memory_rate.measured_on, "node 7");
  EXPECT_EQ(mine.gpu.gemm_ceiling.at(Dtype::bf16).value, 0.7);
  EXPECT_EQ(mine.gpu.gemm_ceiling.at(Dtype::fp8).value, theirs.gpu.gemm_ceiling.at(Dtype::fp8).value);
  EXPECT_EQ(mine.gpu.memory_latency.value, theirs.gpu.memory_latency.value);
  EXPECT_EQ(mine.gpu.memory_origin, Origin::measured);
  EXPECT_EQ(mine.gpu.gemm_origin, Origin::measured);
  EXPECT_EQ(mine.gpu.attention_origin, theirs.gpu.attention_origin);
  EXPECT_TRUE(mine.notes.empty());
}

TEST_F(ProfileFile, LaterFilesOverrideEarlierOnes) {
  const std::string first = write(
      "[links]\nnode = \"hgx-h100\"\nnvlink_efficiency = { value = 0.7, source = \"a\" }\n"
      "pcie_efficiency = { value = 0.6, source = \"a\" }\n",
      "first.toml");
  const std::string second = write(
      "[links]\nnode = \"hgx-h100\"\nnvlink_efficiency = { value = 0.75, source = \"b\" }\n", "second.toml");
  const Profile profile = load({first, second});
  EXPECT_EQ(profile.links.nvlink_efficiency.value, 0.75);
  EXPECT_EQ(profile.links.pcie_efficiency.value, 0.6);
}

TEST_F(ProfileFile, ASectionOfOtherHardwareIsNotUsedButNoted) {
  const std::string file =
      write("[gpu]\nname = \"a100-sxm-80g\"\nmemory_rate = { value = \"1 TB/s\", source = \"x\" }\n");
  const Profile profile = load({file});
  EXPECT_EQ(profile.gpu.memory_rate.value, load({}).gpu.memory_rate.value);
  ASSERT_EQ(profile.notes.size(), 1U);
  EXPECT_NE(profile.notes[0].find("a100-sxm-80g"), std::string::npos);
  EXPECT_NE(profile.notes[0].find("h100-sxm"), std::string::npos);
}

TEST_F(ProfileFile, HostSectionGivesTheRatesOfACpuCore) {
  const std::string file = write(R"([host]
name = "cpu-host"
memory_rate = { value = "8 GB/s", source = "calibrate" }
[host.gemm_rate]
fp32 = { value = "40 GFLOP/s", source = "calibrate" }
)");
  const Profile profile = load({file}, "cpu-host");
  EXPECT_EQ(profile.gpu.memory_rate.value.value, 8e9);
  EXPECT_EQ(profile.gpu.peak.at(Dtype::fp32).value.value * profile.gpu.gemm_ceiling.at(Dtype::fp32).value,
            40e9);
  EXPECT_EQ(profile.gpu.gemm_origin, Origin::measured);
}

TEST_F(ProfileFile, ReadsMeasuredCollectivesInOrderOfSize) {
  const std::string file = write(R"(
[[collective]]
operation = "all_reduce"
ranks = 2
nodes = 2
fabric = "ethernet-1g"
link_rate = "1 Gb/s"
source = "nccl-tests log"
measured_on = "two desktops"
points = [["1 KiB", "120 us"], ["1 MiB", "17.4 ms"]]
cpu_points = [["1 MiB", "3 ms"]]
)");
  const Profile profile = load({file});
  ASSERT_EQ(profile.collectives.size(), 1U);
  const MeasuredCollective& collective = profile.collectives[0];
  EXPECT_EQ(collective.operation, "all_reduce");
  EXPECT_EQ(collective.ranks, 2);
  ASSERT_TRUE(collective.link_rate.has_value());
  EXPECT_EQ(collective.link_rate->value, 125e6);
  EXPECT_FALSE(collective.gpus_per_node.has_value());
  ASSERT_EQ(collective.points.size(), 2U);
  EXPECT_EQ(collective.points[0].first, kibibytes(1));
  EXPECT_NEAR(collective.points[1].second.value, 17.4e-3, 1e-12);
  ASSERT_EQ(collective.cpu_points.size(), 1U);
}

TEST_F(ProfileFile, JitterIsOffUntilAFileStatesIt) {
  EXPECT_EQ(load({}).kernel_jitter, 0);
  EXPECT_EQ(load({}).collective_jitter, 0);
  const std::string file =
      write("[gpu]\nname = \"h100-sxm\"\nkernel_jitter = { value = 0.02, source = \"calibrate\" }\n");
  EXPECT_EQ(load({file}).kernel_jitter, 0.02);
}

}  // namespace
}  // namespace stepcast
