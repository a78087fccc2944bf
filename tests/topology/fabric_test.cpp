#include "topology/fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/topology/temporary_file.hpp"

namespace stepcast {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(FabricPresets, AllThatTheDesignNamesLoadWithTheRateOfTheirName) {
  for (const auto& [name, gigabits] : std::vector<std::pair<const char*, double>>{{"ethernet-1g", 1},
                                                                                  {"ethernet-10g", 10},
                                                                                  {"ethernet-25g", 25},
                                                                                  {"ethernet-40g", 40},
                                                                                  {"ethernet-100g", 100},
                                                                                  {"roce-100g", 100},
                                                                                  {"roce-200g", 200},
                                                                                  {"roce-400g", 400},
                                                                                  {"infiniband-100g", 100},
                                                                                  {"infiniband-200g", 200},
                                                                                  {"infiniband-400g", 400},
                                                                                  {"infiniband-800g", 800},
                                                                                  {"omnipath-100g", 100},
                                                                                  {"efa-100g", 100},
                                                                                  {"efa-200g", 200},
                                                                                  {"efa-400g", 400},
                                                                                  {"tcpx-200g", 200}}) {
    EXPECT_THAT(fabric_preset_names(), Contains(name));
    const FabricSpec fabric = load_fabric(name, {});
    EXPECT_EQ(fabric.name, name);
    EXPECT_DOUBLE_EQ(fabric.link_rate.value, gigabits * 1e9 / 8) << name;
    EXPECT_GT(fabric.efficiency, 0.3) << name;
    EXPECT_LE(fabric.efficiency, 1.0) << name;
    EXPECT_GT(fabric.link_latency.value, 0) << name;
    EXPECT_FALSE(fabric.interpolated) << name;
    EXPECT_FALSE(fabric.source.empty()) << name;
  }
}

TEST(FabricPresets, EthernetIsTcpOverOneNicWithoutGpudirect) {
  const FabricSpec fabric = load_fabric("ethernet-100g", {});
  EXPECT_EQ(fabric.transport, Transport::ethernet);
  EXPECT_EQ(fabric.nics_per_node, 1);
  EXPECT_FALSE(fabric.gpudirect);
  EXPECT_GT(fabric.flow_ceiling.value, 0);
  EXPECT_GT(fabric.sockets_tuned, fabric.sockets_untuned);
  EXPECT_GT(fabric.host_copy_rate.value, 0);
}

TEST(FabricPresets, RdmaLeavesTheNumberOfNicsToTheNode) {
  EXPECT_EQ(load_fabric("infiniband-400g", {}).nics_per_node, 0);
  EXPECT_TRUE(load_fabric("roce-200g", {}).gpudirect);
}

// ln(283/200) / ln(2) = 0.5008 of the way from roce-200g (0.948) to roce-400g (0.942): 0.94500.
TEST(LoadFabric, InterpolatesBetweenTheNeighboursInTheLogarithmOfTheRate) {
  const FabricSpec fabric = load_fabric("roce-283g", {});
  EXPECT_TRUE(fabric.interpolated);
  EXPECT_EQ(fabric.name, "roce-283g");
  EXPECT_DOUBLE_EQ(fabric.link_rate.value, 283e9 / 8);
  EXPECT_NEAR(fabric.efficiency, 0.948 - 0.006 * std::log(283.0 / 200) / std::log(2.0), 1e-12);
  EXPECT_EQ(fabric.source, "interpolated between roce-200g and roce-400g");
}

TEST(LoadFabric, TakesTheNearestBeyondTheEnds) {
  const FabricSpec fast = load_fabric("ethernet-400g", {});
  EXPECT_TRUE(fast.interpolated);
  EXPECT_DOUBLE_EQ(fast.efficiency, load_fabric("ethernet-100g", {}).efficiency);
  EXPECT_EQ(fast.nics_per_node, 1);
  const FabricSpec slow = load_fabric("infiniband-56g", {});
  EXPECT_DOUBLE_EQ(slow.efficiency, load_fabric("infiniband-100g", {}).efficiency);
  EXPECT_DOUBLE_EQ(load_fabric("omnipath-400g", {}).link_rate.value, 50e9);
}

TEST(LoadFabric, TakesFractionsOfAGigabit) {
  EXPECT_DOUBLE_EQ(load_fabric("ethernet-2.5g", {}).link_rate.value, 2.5e9 / 8);
}

TEST(LoadFabric, AnUnknownNameIsAFaultWithASuggestion) {
  const SourcePlace place{"rail_32.toml", 14, 10, 1, ""};
  const auto faults = faults_of([&] { return load_fabric("infinband-400g", place); });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message, "unknown fabric \"infinband-400g\"");
  EXPECT_EQ(faults[0].place.line, 14U);
  EXPECT_EQ(faults[0].hint, "did you mean \"infiniband-400g\"?");
}

TEST(LoadFabric, ARateThatIsNoNumberIsUnknown) {
  for (const char* name :
       {"ethernet-g", "ethernet-xg", "ethernet-0g", "ethernet--5g", "ethernet-nang", "ethernet-10"}) {
    EXPECT_EQ(faults_of([&] { return load_fabric(name, {}); }).size(), 1U) << name;
  }
}

TEST(LoadFabric, ReadsAUsersFile) {
  const TemporaryFile file(R"(transport = "roce"
[link]
rate = "50 Gb/s"
efficiency = 0.9
latency = "3 us"
[switch]
leaf_ports = 48
[nic]
per_node = 2
)");
  const FabricSpec fabric = load_fabric(file.path(), {});
  EXPECT_DOUBLE_EQ(fabric.link_rate.value, 6.25e9);
  EXPECT_EQ(fabric.leaf_ports, 48);
  EXPECT_EQ(fabric.nics_per_node, 2);
  EXPECT_TRUE(fabric.gpudirect);
}

TEST(LoadFabric, AllFaultsOfAFileAreReportedAtOnce) {
  const TemporaryFile file(R"(transport = "ethernet"
[link]
rate = 10
efficiency = 1.5
[nic]
gpudirect = true
per_nodes = 1
)");
  std::vector<std::string> messages;
  for (const Diagnostic& fault : faults_of([&] { return load_fabric(file.path(), {}); })) {
    EXPECT_EQ(fault.place.file, file.path());
    EXPECT_GT(fault.place.line, 0U) << fault.message;
    messages.push_back(fault.message);
  }
  EXPECT_EQ(messages.size(), 5U);
  EXPECT_THAT(messages, Contains(HasSubstr("link.rate is a bare number")));
  EXPECT_THAT(messages, Contains(HasSubstr("link.efficiency is 1.5")));
  EXPECT_THAT(messages, Contains("link.latency is missing"));
  EXPECT_THAT(messages, Contains(HasSubstr("gpudirect cannot hold for plain TCP")));
  EXPECT_THAT(messages, Contains("unknown key \"nic.per_nodes\""));
}

}  // namespace
}  // namespace stepcast
