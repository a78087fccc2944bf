#include "topology/import/known_hardware.hpp"

#include <gtest/gtest.h>

#include <set>

namespace stepcast {
namespace {

TEST(KnownHardware, PcieRatesAreThoseOfTheStandard) {
  // 16 GT/s x 128/130 x 16 lanes / 8 = 31.5 GB/s; 8b/10b below 8 GT/s: 5 x 0.8 x 8 / 8 = 4 GB/s.
  EXPECT_NEAR(pcie_rate(16, 16)->value, 16e9 * 128 / 130 * 16 / 8, 5e6);
  EXPECT_NEAR(pcie_rate(32, 8)->value, 32e9 * 128 / 130 * 8 / 8, 5e6);
  EXPECT_DOUBLE_EQ(pcie_rate(5, 8)->value, 4e9);
  EXPECT_FALSE(pcie_rate(7, 16));
  const std::optional<PcieLink> link = pcie_link_of(gigabytes_per_second(15.75));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->gigatransfers, 8);
  EXPECT_EQ(link->width, 16);
  EXPECT_FALSE(pcie_link_of(gigabytes_per_second(225)));
}

TEST(KnownHardware, DeviceIdsAreUniqueAndFiguresHaveSources) {
  std::set<std::string> ids;
  for (const KnownGpu& gpu : known_gpus()) {
    for (const std::string& id : gpu.device_ids) EXPECT_TRUE(ids.insert(id).second) << id;
    EXPECT_EQ(gpu.nvlink_links.has_value(), gpu.nvlink_rate_per_link.has_value()) << gpu.profile;
    ASSERT_TRUE(gpu.pcie_rate && gpu.peer_to_peer && gpu.gpudirect) << gpu.profile;
    EXPECT_FALSE(gpu.pcie_rate->source.empty() || gpu.gpudirect->source.empty()) << gpu.profile;
  }
  ASSERT_NE(known_gpu_by_device("0x2330"), nullptr);
  EXPECT_EQ(known_gpu_by_device("0x2330")->profile, "h100-sxm");
  EXPECT_EQ(other_gpu_by_device("0x2322")->like, "h100-pcie");
  EXPECT_EQ(known_gpu_by_device("0xffff"), nullptr);
}

}  // namespace
}  // namespace stepcast
