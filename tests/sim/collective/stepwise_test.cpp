#include "sim/collective/stepwise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <stdexcept>

#include "base/diagnostic.hpp"
#include "sim/collective/link_loads.hpp"
#include "tests/sim/collective/clusters.hpp"

namespace stepcast {
namespace {

using test::all_of;
using test::cluster_of;
using test::forced;
using test::ideal_links;
using test::request_of;

struct Call {
  const char* what;
  const char* node;
  int nodes;
  const char* fabric;
  Operation operation;
  CollectiveForce force;
};

void PrintTo(const Call& call, std::ostream* out) { *out << call.what; }

class Uncongested : public testing::TestWithParam<Call> {};

TEST_P(Uncongested, StepwiseAndFluidAgreeWithinOnePercentFromOneMebibyteOn) {
  const Call& call = GetParam();
  const auto cluster = cluster_of(request_of(call.node, call.nodes, call.fabric));
  const CollectiveModel model(cluster, ideal_links());
  for (const double mebi : {1.0, 32.0, 1024.0}) {
    const StepwiseResult result =
        stepwise(model, call.operation, mebibytes(mebi), {all_of(*cluster)}, call.force);
    EXPECT_NEAR(result.time / result.plan.time_alone, 1, 0.01) << mebi << " MiB";
    EXPECT_GT(result.flows, 0);
  }
}

constexpr auto simple = Protocol::simple;
INSTANTIATE_TEST_SUITE_P(
    Clusters, Uncongested,
    testing::Values(
        Call{"ring in an H100 node",
             "hgx-h100",
             1,
             "infiniband-400g",
             Operation::all_reduce,
             {Algorithm::ring, simple}},
        Call{"ring on 2 nodes",
             "hgx-h100",
             2,
             "infiniband-400g",
             Operation::all_reduce,
             {Algorithm::ring, simple}},
        Call{"ring on 4 nodes, LL128",
             "hgx-h100",
             4,
             "infiniband-400g",
             Operation::all_reduce,
             {Algorithm::ring, Protocol::ll128}},
        Call{"ring on 4 nodes, LL",
             "hgx-h100",
             4,
             "infiniband-400g",
             Operation::all_reduce,
             {Algorithm::ring, Protocol::ll}},
        Call{"tree on 4 nodes",
             "hgx-h100",
             4,
             "infiniband-400g",
             Operation::all_reduce,
             {Algorithm::tree, simple}},
        Call{"tree on 3 nodes",
             "dgx-a100-80g",
             3,
             "infiniband-200g",
             Operation::all_reduce,
             {Algorithm::tree, simple}},
        Call{"tree in a node",
             "hgx-h100",
             1,
             "infiniband-400g",
             Operation::all_reduce,
             {Algorithm::tree, simple}},
        Call{"all_gather on 4 nodes",
             "hgx-h100",
             4,
             "infiniband-400g",
             Operation::all_gather,
             {Algorithm::ring, simple}},
        Call{"reduce_scatter on 2 nodes", "hgx-h100", 2, "infiniband-400g", Operation::reduce_scatter, {}},
        Call{"broadcast on 2 nodes", "hgx-h100", 2, "infiniband-400g", Operation::broadcast, {}},
        Call{"reduce in a node", "dgx-a100-80g", 1, "infiniband-200g", Operation::reduce, {}},
        Call{"all_to_all on 2 nodes", "hgx-h100", 2, "infiniband-400g", Operation::all_to_all, {}},
        Call{"send_recv on 2 nodes", "hgx-h100", 2, "infiniband-400g", Operation::send_recv, {}},
        Call{"rings on a DGX-1's mesh",
             "dgx-1-v100-32g",
             1,
             "infiniband-100g",
             Operation::all_reduce,
             {Algorithm::ring, simple}},
        Call{"rings on two DGX-1",
             "dgx-1-v100-32g",
             2,
             "infiniband-100g",
             Operation::all_reduce,
             {Algorithm::ring, simple}},
        Call{"PCIe box",
             "pcie-rtx-4090",
             1,
             "ethernet-100g",
             Operation::all_reduce,
             {Algorithm::ring, simple}},
        Call{"PCIe boxes over TCP",
             "pcie-rtx-4090",
             2,
             "ethernet-100g",
             Operation::all_reduce,
             {Algorithm::ring, simple}},
        Call{"H100 nodes over TCP",
             "hgx-h100",
             2,
             "ethernet-25g",
             Operation::all_gather,
             {Algorithm::ring, simple}},
        Call{"broadcast between PCIe boxes over TCP",
             "pcie-rtx-4090",
             2,
             "ethernet-100g",
             Operation::broadcast,
             {}},
        Call{"broadcast between DGX-1", "dgx-1-v100-32g", 2, "infiniband-100g", Operation::broadcast, {}},
        Call{"trees between DGX-1",
             "dgx-1-v100-32g",
             2,
             "infiniband-100g",
             Operation::all_reduce,
             {Algorithm::tree, simple}},
        Call{"trees between PCIe boxes over TCP",
             "pcie-rtx-4090",
             3,
             "ethernet-100g",
             Operation::all_reduce,
             {Algorithm::tree, simple}},
        Call{"trees of H100 nodes over TCP, LL",
             "hgx-h100",
             2,
             "ethernet-25g",
             Operation::all_reduce,
             {Algorithm::tree, Protocol::ll}}),
    [](const auto& call) {
      std::string name;
      for (const char c : std::string(call.param.what))
        if (std::isalnum(static_cast<unsigned char>(c))) name += c;
      return name;
    });

TEST(Stepwise, MessagesAddUpToTheLoadsOfTheCall) {
  const auto cluster = cluster_of(request_of("dgx-1-v100-32g", 3));
  const NodePaths paths(*cluster);
  const LinkLoads loads(paths);
  const GroupShape shape = shape_of(all_of(*cluster), *cluster);
  const auto same = [&](Operation operation, Algorithm algorithm) {
    std::map<int, double> sums;
    for (const Message& message : loads.messages(operation, algorithm, shape, 0))
      for (const LinkLoad& load : message.loads) sums[load.link] += load.weight;
    const CallLoads call = loads.of(operation, algorithm, {shape}, 0);
    ASSERT_EQ(sums.size(), call.loads.size());
    for (const LinkLoad& load : call.loads) EXPECT_NEAR(sums[load.link], load.weight, 1e-12 * load.weight);
  };
  same(Operation::all_reduce, Algorithm::ring);
  same(Operation::all_reduce, Algorithm::tree);
  same(Operation::reduce, Algorithm::ring);
  same(Operation::all_to_all, Algorithm::direct);
  same(Operation::send_recv, Algorithm::direct);
}

// One lane of 8 GPUs, 14 steps of 8 chunks; two opposite cycles and their reverses on a DGX-1's mesh make
// six.
TEST(Stepwise, EveryChunkOfEveryStepIsAFlow) {
  const auto ring = forced(Algorithm::ring);
  const auto h100 = cluster_of(request_of("hgx-h100", 1));
  EXPECT_EQ(stepwise(CollectiveModel(h100, ideal_links()), Operation::all_reduce, mebibytes(1),
                     {all_of(*h100)}, ring)
                .flows,
            8 * 14);
  const auto dgx = cluster_of(request_of("dgx-1-v100-32g", 1));
  EXPECT_EQ(
      stepwise(CollectiveModel(dgx, ideal_links()), Operation::all_reduce, mebibytes(1), {all_of(*dgx)}, ring)
          .flows,
      6 * 8 * 14);
}

TEST(Stepwise, OneRankOrNoPayloadTakesNoTime) {
  const auto cluster = cluster_of(request_of("hgx-h100", 1));
  const CollectiveModel model(cluster, ideal_links());
  EXPECT_EQ(stepwise(model, Operation::all_gather, mebibytes(1), {{{3}}}).time.value, 0);
  EXPECT_EQ(stepwise(model, Operation::all_gather, Bytes(0), {all_of(*cluster)}).time.value, 0);
}

std::string refusal(const CollectiveModel& model, const std::vector<Group>& groups,
                    const CollectiveForce& force) {
  try {
    (void)stepwise(model, Operation::all_reduce, mebibytes(1), groups, force);
  } catch (const std::invalid_argument& fault) {
    return fault.what();
  }
  return "";
}

TEST(Stepwise, WhatHasNoChunksIsRefusedWithTheReason) {
  const auto cluster = cluster_of(request_of("hgx-h100", 2));
  const CollectiveModel model(cluster, ideal_links());
  EXPECT_THAT(refusal(model, {all_of(*cluster)}, forced(Algorithm::nvls_tree)),
              testing::AllOf(testing::HasSubstr("nvls_tree"), testing::HasSubstr("in the switch"),
                             testing::HasSubstr("force ring or tree")));
  EXPECT_THAT(refusal(model, {all_of(*cluster)}, forced(Algorithm::hierarchical)),
              testing::HasSubstr("no chunk-by-chunk form"));
}

TEST(Stepwise, CallsOfTooManyFlowsAreRefused) {
  const auto cluster = cluster_of(request_of("hgx-h100", 256));  // 2048 ranks x 8 lanes x 4094 steps
  const CollectiveModel model(cluster, ideal_links());
  EXPECT_THAT(refusal(model, {all_of(*cluster)}, forced(Algorithm::ring)),
              testing::HasSubstr("67 million flows"));
}

TEST(Stepwise, ACancelledRunIsInterrupted) {
  const auto cluster = cluster_of(request_of("hgx-h100", 1));
  const std::atomic<bool> cancel{true};
  EXPECT_THROW((void)stepwise(CollectiveModel(cluster, ideal_links()), Operation::all_gather, mebibytes(1),
                              {all_of(*cluster)}, {}, &cancel),
               Interrupted);
}

// A measured time holds stepwise as well: the plan's latency and ceiling are the measurement's.
TEST(Stepwise, AMeasuredCollectiveTakesItsMeasuredTime) {
  Profile profile = ideal_links();
  MeasuredCollective measured;
  measured.operation = "all_gather";
  measured.ranks = 16;
  measured.nodes = 2;
  measured.fabric = "infiniband-400g";
  measured.points = {{mebibytes(64), microseconds(450)}};
  profile.collectives.push_back(measured);
  const auto cluster = cluster_of(request_of("hgx-h100", 2));
  const auto result =
      stepwise(CollectiveModel(cluster, profile), Operation::all_gather, mebibytes(64), {all_of(*cluster)});
  ASSERT_TRUE(result.plan.measured);
  EXPECT_NEAR(result.time.value, 450e-6, 0.01 * 450e-6);
}

/// `use` GPUs of each node, from `first` on.
Group group_on(const std::vector<int>& nodes, int use, int first = 0) {
  Group group;
  for (const int node : nodes)
    for (int local = first; local < first + use; ++local) group.ranks.push_back(node * 8 + local);
  return group;
}

/// Two nodes on a leaf, a quarter of their bandwidth above it.
std::shared_ptr<const Cluster> narrow_uplinks(int nodes) {
  ClusterRequest request = request_of("hgx-h100", nodes);
  request.topology = "leaf-spine";
  request.fabric.leaf_ports = 32;
  request.oversubscription = 4;
  return cluster_of(request);
}

// Nodes 0 and 1 share a leaf, 2 and 3 another. Uplinks of 4 x 50 GB/s carry both rings, 15/8 S each: S large,
// so that T = 2 x 15/8 S / (200 GB/s x efficiency). Equal rings stay in step, and a step shares as the whole
// does.
TEST(Congestion, EqualRingsOnOneUplinkAreTheSameStepwiseAndFluid) {
  const auto cluster = narrow_uplinks(4);
  const CollectiveModel model(cluster, ideal_links());
  const std::vector<Group> rings{group_on({0, 2}, 8), group_on({1, 3}, 8)};
  for (const double mebi : {1.0, 32.0, 1024.0}) {
    const auto result =
        stepwise(model, Operation::all_reduce, mebibytes(mebi), rings, forced(Algorithm::ring));
    for (const Seconds time : result.times) EXPECT_NEAR(time / result.fluid_time, 1, 1e-3) << mebi;
    EXPECT_NEAR(result.fluid_time / result.plan.time_alone, 1, 1e-3);
  }
  const Bytes payload = gibibytes(64);
  const auto large = stepwise(model, Operation::all_reduce, payload, rings, forced(Algorithm::ring));
  const double uplinks = 4 * 50e9 * cluster->request().fabric.efficiency;
  EXPECT_NEAR(large.time.value, 2 * 15.0 / 8 * payload.value / uplinks, 2e-3 * large.time.value);
}

// Two broadcasts share an uplink. The lanes of a chain reach it after one hop to eight, and those that come
// early find it half empty; fluid, each broadcast has half of it from its beginning to its end. That is a
// constant time of about 20 us: a tenth at 1 MiB, nothing at 1 GiB.
TEST(Congestion, PipelinesThatShareALinkEndUpToATenthEarlierStepwise) {
  const auto cluster = narrow_uplinks(4);
  const CollectiveModel model(cluster, ideal_links());
  const std::vector<Group> groups{group_on({0, 2}, 8), group_on({1, 3}, 8)};
  const auto difference = [&](double mebi) {
    const auto result =
        stepwise(model, Operation::broadcast, mebibytes(mebi), groups, forced(Algorithm::ring));
    return result.time / result.fluid_time - 1;
  };
  EXPECT_LT(difference(1), -0.05);
  EXPECT_GT(difference(1), -0.15);
  EXPECT_NEAR(difference(1024), 0, 0.01);
}

// A ring of two nodes with eight lanes and one of four nodes with four lanes on the same uplinks. Fluid, each
// has half; step by step every lane has a twelfth, so the first ring has two thirds and takes 3/4 of the time
// (latencies aside). The uplink has the same bytes to carry, so the last one to end ends alike.
TEST(Congestion, UnlikeRingsShareOtherwiseStepwiseButTheSlowestEndsAlike) {
  const auto cluster = narrow_uplinks(6);
  const CollectiveModel model(cluster, ideal_links());
  const std::vector<Group> rings{group_on({0, 2}, 8), group_on({1, 3, 2, 4}, 4)};
  const auto result = stepwise(model, Operation::all_reduce, mebibytes(256), rings, forced(Algorithm::ring));
  EXPECT_NEAR(result.time / result.fluid_time, 1, 0.01);
  EXPECT_NEAR(result.times[0] / result.fluid_times[0], 0.75, 0.05);
}

// Eight rail rings over hashed routes, some of whose hops meet on one spine. Fluid, a link is shared equally
// between rings; step by step between chunks, so that a ring with two hops on it has twice the share of a
// ring with one. Here the slowest ring is one that meets itself: it ends earlier, those that meet it later.
TEST(Congestion, RingsOnHashedRoutesDifferByTensOfPercent) {
  ClusterRequest request = request_of("hgx-h100", 8);
  request.topology = "leaf-spine";
  request.routing = "ecmp";
  request.routing_seed = 1;             // places a ring on itself; most seeds do not
  request.fabric.channels_per_nic = 1;  // one flow between two cards
  request.fabric.leaf_ports = 32;
  const auto cluster = cluster_of(request);
  const CollectiveModel model(cluster, ideal_links());
  std::vector<Group> rails;
  for (int rail = 0; rail < 8; ++rail) rails.push_back(group_on({0, 2, 4, 6, 1, 3, 5, 7}, 1, rail));
  const auto result = stepwise(model, Operation::all_reduce, mebibytes(256), rails, forced(Algorithm::ring));
  EXPECT_LT(result.time / result.fluid_time, 0.95);
  EXPECT_GT(result.time / result.fluid_time, 0.8);
  double later = 0;
  for (std::size_t g = 0; g < rails.size(); ++g)
    later = std::max(later, result.times[g] / result.fluid_times[g] - 1);
  EXPECT_GT(later, 0.05);
  EXPECT_LT(later, 0.5);
  EXPECT_NEAR(result.time / result.plan.time_alone, 1,
              0.01);  // all rings as one activity: the busiest link's
}

}  // namespace
}  // namespace stepcast
