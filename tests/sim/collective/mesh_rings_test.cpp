#include "sim/collective/mesh_rings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/sim/collective/clusters.hpp"

namespace stepcast {
namespace {

using namespace test;

class Dgx1 : public testing::Test {
 protected:
  std::shared_ptr<const Cluster> cluster = cluster_of(request_of("dgx-1-v100-16g", 1));
  Connections connections = [this](int a, int b) { return cluster->nvlink_connections(a, b); };
};

// 24 links, 8 to a cycle: three cycles use them all, six rings with both directions.
TEST_F(Dgx1, EightGpusHaveThreeCyclesThatShareNoLink) {
  const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
  const auto cycles = disjoint_cycles(all, connections);
  ASSERT_EQ(cycles.size(), 3U);
  std::map<std::pair<int, int>, int> used;
  for (const auto& cycle : cycles) {
    EXPECT_TRUE(std::is_permutation(cycle.begin(), cycle.end(), all.begin(), all.end()));
    for (std::size_t i = 0; i < 8; ++i) ++used[std::minmax(cycle[i], cycle[(i + 1) % 8])];
  }
  for (const auto& [pair, times] : used) EXPECT_LE(times, connections(pair.first, pair.second));
}

TEST_F(Dgx1, FourGpusHaveTwoAndAPairAsManyAsItsLinks) {
  EXPECT_EQ(disjoint_cycles({0, 1, 2, 3}, connections).size(), 2U);
  EXPECT_EQ(disjoint_cycles({0, 1}, connections).size(), 1U);
  EXPECT_EQ(disjoint_cycles({0, 3}, connections).size(), 2U);
  EXPECT_TRUE(disjoint_cycles({0, 7}, connections).empty());
}

// 25 GB/s a link and direction. All: 6 rings, 150 GB/s. Four GPUs: 4 rings, 100. Pairs: 25 by one link, 50 by
// two.
TEST_F(Dgx1, PartialGroupsReachWhatTheirLinksGive) {
  const CollectiveModel model(cluster, ideal_links());
  const auto reach = [&](std::vector<int> ranks) {
    return plateau(model, Operation::all_reduce, Group{std::move(ranks)}, forced(Algorithm::ring));
  };
  EXPECT_NEAR(reach({0, 1, 2, 3, 4, 5, 6, 7}), 150, 1e-3);
  EXPECT_NEAR(reach({0, 1, 2, 3}), 100, 1e-3);
  EXPECT_NEAR(reach({0, 1}), 25, 1e-3);
  EXPECT_NEAR(reach({0, 3}), 50, 1e-3);
}

// Four NICs of 12.5 GB/s limit, not the mesh: every lane finds a walk that leaves enough to the others.
TEST_F(Dgx1, RingsAcrossNodesLeaveTheMeshFasterThanTheNics) {
  ClusterRequest request = request_of("dgx-1-v100-16g", 2, "infiniband-100g");
  request.fabric.efficiency = 1;
  const auto pair = cluster_of(request);
  const CollectiveModel model(pair, ideal_links());
  EXPECT_EQ(pair->nics_per_node(), 4);
  EXPECT_NEAR(plateau(model, Operation::all_reduce, all_of(*pair), forced(Algorithm::ring)), 50, 1e-3);
}

// Four cards of 25 GB/s limit, one by each GPU: every ring leaves the node by a GPU of its own, so that no
// card is shared and none idles.
TEST(MeshRings, AcrossNodesLeaveByEveryGpu) {
  ClusterRequest request = request_of("hgx-a100-4gpu", 2, "infiniband-200g");
  request.fabric.efficiency = 1;
  request.fabric.nics_per_node = 4;
  const auto pair = cluster_of(request);
  const CollectiveModel model(pair, ideal_links(8.0));
  EXPECT_NEAR(plateau(model, Operation::all_reduce, all_of(*pair), forced(Algorithm::ring)), 100, 1e-3);
}

TEST(SpreadPaths, VisitEveryMemberAndEndAtAnExit) {
  const Connections full = [](int a, int b) { return a == b ? 0 : 1; };
  const auto paths = spread_paths({0, 1, 2, 3}, {{0, {1}, {}}, {2, {3}, {}}}, full);
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[0].front(), 0);
  EXPECT_EQ(paths[0].back(), 1);
  EXPECT_EQ(paths[0].size(), 4U);
  EXPECT_EQ(paths[1].front(), 2);
  EXPECT_EQ(paths[1].back(), 3);
  const Connections none = [](int, int) { return 0; };
  EXPECT_TRUE(spread_paths({0, 1}, {{0, {1}, {}}}, none).front().empty());
}

TEST(MeshRings, AMeshOfManyDeadEndsIsGivenUp) {
  // GPUs 0-13 each with each, GPUs 14 and 15 on one cable each: no cycle, but 13! walks that end without one.
  std::vector<int> members;
  for (int gpu = 0; gpu < 16; ++gpu) members.push_back(gpu);
  const auto cycles = disjoint_cycles(members, [](int a, int b) {
    if (a == b) return 0;
    if (a < 14 && b < 14) return 1;
    return (a == 14 && b == 0) || (a == 0 && b == 14) || (a == 15 && b == 1) || (a == 1 && b == 15) ? 1 : 0;
  });
  EXPECT_TRUE(cycles.empty());
}

}  // namespace
}  // namespace stepcast
