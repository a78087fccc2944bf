#include <gtest/gtest.h>

#include "scenario_text.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

using testing::plain_scenario;
using testing::ScenarioText;

/// The plain scenario (two nodes of eight H100) with a section [nccl], which begins at line 12.
std::vector<ScenarioPoint> with_nccl(const std::string& keys, const std::vector<Override>& overrides = {}) {
  const ScenarioText text(plain_scenario + "[nccl]\n" + keys);
  return expand(load_scenario(text.path(), overrides));
}

Diagnostic fault_of(const std::string& keys, const std::vector<Override>& overrides = {}) {
  try {
    (void)with_nccl(keys, overrides);
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.diagnostics().size(), 1U);
    return error.diagnostics().front();
  }
  ADD_FAILURE() << "no fault in " << keys;
  return {};
}

TEST(NcclSection, WithoutItNcclChoosesAsTheNewestVersionDoes) {
  const ScenarioText text(plain_scenario);
  const auto points = expand(load_scenario(text.path(), {}));
  EXPECT_EQ(points.at(0).scenario->nccl, NcclOptions{});
  EXPECT_EQ(NcclOptions{}.version, NcclVersion::v2_27);
}

TEST(NcclSection, TakesNcclsOwnSpellings) {
  const auto points = with_nccl(
      "version = \"2.21\"\nalgorithm = \"Ring,NVLSTree\"\nprotocol = \"^LL128\"\nmin_channels = 4\n"
      "max_channels = 8\nsockets = \"tuned\"\npxn = false\nnchannels_per_net_peer = 2\n");
  const NcclOptions& nccl = points.at(0).scenario->nccl;
  EXPECT_EQ(nccl.version, NcclVersion::v2_21);
  EXPECT_EQ(nccl.algorithms, (std::vector{Algorithm::ring, Algorithm::nvls_tree}));
  EXPECT_EQ(nccl.protocols, (std::vector{Protocol::ll, Protocol::simple}));
  EXPECT_EQ(nccl.min_channels, 4);
  EXPECT_EQ(nccl.max_channels, 8);
  EXPECT_TRUE(nccl.tuned_sockets);
  EXPECT_FALSE(nccl.pxn);
  EXPECT_EQ(nccl.channels_per_net_peer, 2);
}

TEST(NcclSection, CanBeSweptAndMarksPointsThatCannotExist) {
  const auto points = with_nccl("", {{"nccl.algorithm", "\"Ring\", \"NVLS\""}, {"cluster.nodes", "1, 2"}});
  ASSERT_EQ(points.size(), 4U);
  EXPECT_TRUE(points[0].scenario && points[1].scenario && points[2].scenario);
  EXPECT_FALSE(points[3].scenario);  // NVLS across nodes
  EXPECT_NE(points[3].invalid.find("across nodes"), std::string::npos) << points[3].invalid;
}

TEST(NcclSection, SaysWhyAnAlgorithmCannotRunHere) {
  const auto a100 = fault_of("algorithm = \"NVLSTree\"\n", {{"cluster.node", "dgx-a100-80g"}});
  EXPECT_NE(a100.message.find("dgx-a100-80g has no NVSwitch that reduces"), std::string::npos)
      << a100.message;
  EXPECT_EQ(a100.place.line, 13U);
  const auto pat = fault_of("algorithm = \"PAT\"\n");
  EXPECT_NE(pat.message.find("one GPU on each"), std::string::npos) << pat.message;
  const auto collnet = fault_of("collnet = true\n");
  EXPECT_NE(collnet.message.find("infiniband-400g has no such switches"), std::string::npos)
      << collnet.message;
}

TEST(NcclSection, NamesFaultyWordsWithASuggestion) {
  EXPECT_NE(fault_of("algorithm = \"Rings\"\n").hint.find("Ring"), std::string::npos);
  EXPECT_NE(fault_of("protocol = \"LL64\"\n").hint.find("LL"), std::string::npos);
  EXPECT_NE(fault_of("version = \"2.9\"\n").hint.find("2.18"), std::string::npos);
  EXPECT_NE(fault_of("max_channel = 2\n").hint.find("max_channels"), std::string::npos);
  EXPECT_NE(fault_of("min_channels = 8\nmax_channels = 2\n").message.find("above"), std::string::npos);
}

}  // namespace
}  // namespace stepcast
