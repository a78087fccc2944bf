#include "calibrate/measure/link_names.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// A folder that looks like /sys.
class System : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() / ("stepcast-" + std::to_string(::getpid()) + "-sys-" + info->name());
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  void port(const std::string& card, const std::string& rate, const std::string& layer,
            const std::string& state = "4: ACTIVE") const {
    const std::string folder = "class/infiniband/" + card + "/ports/1/";
    write(folder + "rate", rate);
    write(folder + "link_layer", layer);
    write(folder + "state", state);
  }

  fs::path root_;
};

TEST_F(System, NamesAnEthernetCardByItsSpeed) {
  write("class/net/eth0/speed", "25000");
  fs::create_directories(root_ / "class/net/eth0/device");
  EXPECT_EQ(fabric_of_interface_name("eth0", root_), "ethernet-25g");
}

// A veth pair says 10000 whatever carries it; a virtual card says -1.
TEST_F(System, DoesNotBelieveAnInterfaceWithoutACard) {
  write("class/net/veth0/speed", "10000");
  EXPECT_EQ(fabric_of_interface_name("veth0", root_), "");
  write("class/net/virt0/speed", "-1");
  fs::create_directories(root_ / "class/net/virt0/device");
  EXPECT_EQ(fabric_of_interface_name("virt0", root_), "");
  EXPECT_EQ(fabric_of_interface_name("absent0", root_), "");
}

TEST_F(System, NamesWhatMostRdmaCardsAre) {
  EXPECT_EQ(fabric_of_rdma_cards(root_), "");
  port("mlx5_0", "400 Gb/sec (4X NDR)", "InfiniBand");
  port("mlx5_1", "400 Gb/sec (4X NDR)", "InfiniBand");
  port("mlx5_2", "100 Gb/sec (4X EDR)", "Ethernet");
  EXPECT_EQ(fabric_of_rdma_cards(root_), "infiniband-400g");
}

TEST_F(System, LeavesOutRdmaCardsThatAreDown) {
  port("mlx5_0", "10 Gb/sec (4X SDR)", "InfiniBand", "1: DOWN");
  port("mlx5_1", "200 Gb/sec (2X NDR)", "Ethernet");
  EXPECT_EQ(fabric_of_rdma_cards(root_), "roce-200g");
}

TEST(NodePreset, IsTheSmallestWithThisGpuThatIsLargeEnough) {
  EXPECT_EQ(node_preset_of("h200-sxm", 8), "hgx-h200");
  EXPECT_EQ(node_preset_of("h200-sxm", 9), "");
  EXPECT_EQ(node_preset_of("no-such-gpu", 1), "");
}

}  // namespace
}  // namespace stepcast
