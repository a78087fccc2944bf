// I46: oversubscription never slows a job that fits under one leaf and never speeds any job.
#include <gtest/gtest.h>

#include "tests/sim/collective/clusters.hpp"

namespace stepcast {
namespace {

using namespace test;

double time_of(int nodes, const std::string& topology, const std::string& routing, double oversubscription,
               Operation operation, Algorithm algorithm) {
  ClusterRequest request = request_of("hgx-h100", nodes);
  request.topology = topology;
  request.routing = routing;
  request.oversubscription = oversubscription;
  const auto cluster = cluster_of(request);
  return CollectiveModel(cluster, ideal_links())
      .plan(operation, mebibytes(256), {all_of(*cluster)}, forced(algorithm))
      .time_alone.value;
}

struct Fabric {
  const char *topology, *routing;
};

class I46 : public testing::TestWithParam<Fabric> {};

TEST_P(I46, OversubscriptionNeverSpeedsAJob) {
  for (const int nodes : {2, 8, 12})
    for (const auto& [operation, algorithm] : {std::pair(Operation::all_reduce, Algorithm::ring),
                                               std::pair(Operation::all_reduce, Algorithm::tree),
                                               std::pair(Operation::all_gather, Algorithm::ring),
                                               std::pair(Operation::all_to_all, Algorithm::direct)}) {
      double before = 0;
      // Halving the spines puts the flows of two on one, hashed or not. Other ratios deal them out anew, and
      // a lucky deal can be faster; sprayed packets know no luck.
      const bool sprayed = std::string(GetParam().routing) == "spray";
      for (const double oversubscription : {1.0, sprayed ? 1.5 : 1.0, 2.0, sprayed ? 3.0 : 2.0, 4.0}) {
        const double time =
            time_of(nodes, GetParam().topology, GetParam().routing, oversubscription, operation, algorithm);
        EXPECT_GE(time, before * (1 - 1e-12)) << nodes << " nodes, " << oversubscription;
        before = time;
      }
    }
}

// 32 cards, four nodes of eight, fit under a leaf of 64 ports.
TEST_P(I46, OversubscriptionDoesNotTouchAJobUnderOneLeaf) {
  if (std::string(GetParam().topology).starts_with("rail")) GTEST_SKIP() << "a node spans eight leaves here";
  for (const double oversubscription : {2.0, 8.0})
    for (const Operation operation : {Operation::all_reduce, Operation::all_gather})
      EXPECT_EQ(
          time_of(4, GetParam().topology, GetParam().routing, oversubscription, operation, Algorithm::ring),
          time_of(4, GetParam().topology, GetParam().routing, 1, operation, Algorithm::ring));
}

// A ring whose rails are aligned stays on its leaves: nothing to oversubscribe.
TEST(RailAlignedRings, AreNotTouchedByOversubscription) {
  EXPECT_EQ(time_of(8, "rail-optimized", "spray", 8, Operation::all_reduce, Algorithm::ring),
            time_of(8, "rail-optimized", "spray", 1, Operation::all_reduce, Algorithm::ring));
}

INSTANTIATE_TEST_SUITE_P(Fabrics, I46,
                         testing::Values(Fabric{"leaf-spine", "spray"}, Fabric{"leaf-spine", "static"},
                                         Fabric{"leaf-spine", "ecmp"}, Fabric{"fat-tree", "spray"},
                                         Fabric{"fat-tree", "ecmp"}, Fabric{"rail-optimized", "spray"},
                                         Fabric{"rail-optimized", "static"}));

}  // namespace
}  // namespace stepcast
