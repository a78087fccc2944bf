#include "calibrate/cuda/device_name.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace stepcast {
namespace {

struct Named {
  const char* driver;
  const char* profile;
};

// Names as nvidia-smi and PyTorch print them.
constexpr Named with_preset[] = {
    {"NVIDIA H100 80GB HBM3", "h100-sxm"},
    {"NVIDIA H100 PCIe", "h100-pcie"},
    {"NVIDIA H200", "h200-sxm"},
    {"NVIDIA H800", "h800-sxm"},
    {"NVIDIA B200", "b200-sxm"},
    {"NVIDIA GB200", "gb200"},
    {"NVIDIA GH200 480GB", "gh200"},
    {"NVIDIA GB10", "gb10"},
    {"NVIDIA A100-SXM4-80GB", "a100-sxm-80g"},
    {"A100-SXM4-40GB", "a100-sxm-40g"},
    {"NVIDIA A100 80GB PCIe", "a100-pcie-80g"},
    {"NVIDIA A100-PCIE-40GB", "a100-pcie-40g"},
    {"NVIDIA A800-SXM4-80GB", "a800-sxm-80g"},
    {"NVIDIA A10", "a10"},
    {"NVIDIA A10G", "a10g"},
    {"NVIDIA A30", "a30"},
    {"NVIDIA A40", "a40"},
    {"NVIDIA L4", "l4"},
    {"NVIDIA L40S", "l40s"},
    {"Tesla T4", "t4"},
    {"Tesla V100-SXM2-16GB", "v100-sxm2-16g"},
    {"Tesla V100-SXM2-32GB", "v100-sxm2-32g"},
    {"Tesla V100-SXM3-32GB", "v100-sxm3-32g"},
    {"Tesla V100-PCIE-32GB", "v100-pcie"},
    {"NVIDIA GeForce RTX 2080 Ti", "rtx-2080-ti"},
    {"NVIDIA GeForce RTX 4090", "rtx-4090"},
    {"NVIDIA RTX A6000", "rtx-a6000"},
};

TEST(GpuProfileName, DriversNamesLeadToThePresetsThatHoldForThem) {
  for (const Named& named : with_preset) {
    EXPECT_EQ(gpu_profile_name(named.driver), named.profile) << named.driver;
    const auto preset = std::filesystem::path(STEPCAST_SOURCE_DIR) / "calibrate/profiles/gpu" /
                        (std::string(named.profile) + ".toml");
    EXPECT_TRUE(std::filesystem::exists(preset)) << preset;
  }
}

TEST(GpuProfileName, CardsWithoutAPresetKeepTheirNameInLowerCaseWithDashes) {
  EXPECT_EQ(gpu_profile_name("NVIDIA H200 NVL"), "h200-nvl");
  EXPECT_EQ(gpu_profile_name("NVIDIA RTX PRO 6000 Blackwell (Server Edition)"),
            "rtx-pro-6000-blackwell-server-edition");
}

}  // namespace
}  // namespace stepcast
