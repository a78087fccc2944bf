#include "sim/collective/collective.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <stdexcept>

#include "sim/collective/link_loads.hpp"
#include "tests/sim/collective/clusters.hpp"

namespace stepcast {
namespace {

using namespace test;

std::map<LinkKind, double> heaviest(const CollectiveModel& model, const CollectivePlan& plan) {
  std::map<LinkKind, double> result;
  for (const auto& [id, weight] : *plan.loads) {
    double& most = result[model.cluster().links()[static_cast<std::size_t>(id)].kind];
    most = std::max(most, weight);
  }
  return result;
}

TEST(Names, AreThoseOfReports) {
  EXPECT_EQ(name_of(Operation::reduce_scatter), "reduce_scatter");
  EXPECT_EQ(name_of(Algorithm::nvls_tree), "nvls_tree");
  EXPECT_EQ(name_of(Protocol::ll), "LL");
  EXPECT_EQ(name_of(Protocol::simple), "Simple");
}

TEST(CollectiveModel, LatencyPlusPayloadOverRateIsTheTimeAlone) {
  for (const char* fabric : {"infiniband-400g", "ethernet-1g", "ethernet-100g", "roce-200g"}) {
    const auto cluster = cluster_of(request_of("hgx-h100", 3, fabric));
    const CollectiveModel model(cluster, ideal_links());
    for (const auto operation : {Operation::all_reduce, Operation::all_gather, Operation::all_to_all})
      for (const double size : {1e3, 3e5, 2e7, 1e9}) {
        const auto plan = model.plan(operation, Bytes(size), {all_of(*cluster)});
        double rate = plan.rate_ceiling.value;
        for (const auto& [id, weight] : *plan.loads)
          rate = std::min(rate, model.usable_capacity(id).value / weight);
        EXPECT_NEAR(plan.time_alone.value, plan.latency.value + size / rate, 1e-12 * plan.time_alone.value);
      }
  }
}

// Each H100 hangs on one NIC: the ring puts 2 * 31/32 / 8 S on each, and as much on NVLink as inside one
// node.
TEST(CollectiveModel, ARingAcrossNodesUsesEveryNicAndNvlinkEvenly) {
  const auto cluster = cluster_of(request_of("hgx-h100", 4));
  const CollectiveModel model(cluster, ideal_links());
  const auto plan =
      model.plan(Operation::all_reduce, mebibytes(64), {all_of(*cluster)}, forced(Algorithm::ring));
  int nics = 0;
  for (const auto& [id, weight] : *plan.loads) {
    if (cluster->links()[static_cast<std::size_t>(id)].kind != LinkKind::nic) continue;
    EXPECT_NEAR(weight, 2 * 31.0 / 32 / 8, 1e-12);
    ++nics;
  }
  EXPECT_EQ(nics, 2 * 32);
  EXPECT_NEAR(heaviest(model, plan)[LinkKind::nvlink], 2 * 31.0 / 32, 1e-9);
}

// TCP goes through host memory at both ends: the ring's bytes cross PCIe from GPU to host and again from host
// to NIC.
TEST(CollectiveModel, TcpLoadsTheBusTwice) {
  const auto tcp = cluster_of(request_of("hgx-h100", 2, "ethernet-100g", 1));
  const CollectiveModel model(tcp, ideal_links());
  const auto plan = model.plan(Operation::all_reduce, mebibytes(64), {all_of(*tcp)}, forced(Algorithm::ring));
  int into_host = 0;
  for (const auto& [id, weight] : *plan.loads) {
    const Link& link = tcp->links()[static_cast<std::size_t>(id)];
    if (tcp->devices()[static_cast<std::size_t>(link.to)].kind != DeviceKind::host) continue;
    EXPECT_NEAR(weight, 1, 1e-12);
    ++into_host;
  }
  EXPECT_EQ(into_host, 4);  // from the GPU and from the NIC, on either node
  // 100 Gb/s give 10 GB/s to TCP when tuned; four sockets of 1 GB/s are what NCCL opens by itself.
  EXPECT_NEAR(plateau(model, Operation::all_reduce, all_of(*tcp), {}), 4, 1e-6);
}

TEST(CollectiveModel, GigabitEthernetIsAsSlowAsItsWire) {
  const auto cluster = cluster_of(request_of("hgx-h100", 4, "ethernet-1g"));
  const CollectiveModel model(cluster, ideal_links());
  // One NIC of 125 MB/s, 0.94 of it usable, carries every crossing of the ring.
  EXPECT_NEAR(plateau(model, Operation::all_gather, all_of(*cluster), {}), 0.1175, 1e-4);
}

// Two nodes: the double tree puts S on the NICs of a node instead of 2 * 15/16 S.
TEST(CollectiveModel, OnTwoNodesTheTreeSpeaksToTheNetworkOnce) {
  const auto cluster = cluster_of(request_of("hgx-h100", 2));
  const CollectiveModel model(cluster, ideal_links());
  for (const auto algorithm : {Algorithm::tree, Algorithm::nvls_tree}) {
    const auto plan = model.plan(Operation::all_reduce, mebibytes(64), {all_of(*cluster)}, forced(algorithm));
    EXPECT_NEAR(heaviest(model, plan)[LinkKind::nic], 1.0 / 8, 1e-12) << name_of(algorithm);
  }
}

TEST(DoubleTree, EveryNodeIsALeafInOneOfTheTreesAndNoNodeSendsMoreThanTwice) {
  for (const int nodes : {2, 3, 4, 5, 8, 13, 16, 2048}) {
    std::vector<int> sent(static_cast<std::size_t>(nodes)), children(static_cast<std::size_t>(nodes));
    const auto edges = double_tree(nodes);
    EXPECT_EQ(edges.size(), 2U * static_cast<unsigned>(nodes - 1));
    for (const auto& [child, parent] : edges) {
      ++sent[static_cast<std::size_t>(child)];   // up
      ++sent[static_cast<std::size_t>(parent)];  // down
      ++children[static_cast<std::size_t>(parent)];
    }
    for (const int edges_here : sent) EXPECT_LE(edges_here, 4);  // half of S each: 2 S
    for (const int below : children) EXPECT_LE(below, 2 + (nodes % 2));
  }
}

TEST(CollectiveModel, AutomaticChoiceIsTheFastestOfWhatNcclHas) {
  const auto cluster = cluster_of(request_of("hgx-h100", 1));
  const CollectiveModel model(cluster, ideal_links());
  const auto small = model.plan(Operation::all_reduce, kibibytes(1), {all_of(*cluster)});
  EXPECT_EQ(small.protocol, Protocol::ll);
  EXPECT_EQ(small.channels, 1);
  const auto large = model.plan(Operation::all_reduce, gibibytes(1), {all_of(*cluster)});
  EXPECT_EQ(large.algorithm, Algorithm::nvls);
  EXPECT_EQ(large.sms, 16);
  // Four GPUs stay on the ring or tree: NCCL takes NVLS from five on.
  const auto four = model.plan(Operation::all_reduce, gibibytes(1), {Group{{0, 1, 2, 3}}});
  EXPECT_EQ(four.algorithm, Algorithm::ring);
  EXPECT_EQ(model.plan(Operation::all_gather, gibibytes(1), {all_of(*cluster)}).algorithm, Algorithm::ring);
  const auto across = cluster_of(request_of("hgx-h100", 2));
  const CollectiveModel wide(across, ideal_links());
  EXPECT_EQ(wide.plan(Operation::all_reduce, gibibytes(1), {all_of(*across)}).algorithm,
            Algorithm::nvls_tree);
}

TEST(CollectiveModel, PcieBoxesGetNoLl128) {
  const auto cluster = cluster_of(request_of("pcie-rtx-4090", 1));
  const CollectiveModel model(cluster, ideal_links());
  for (double size = 8; size < 1e9; size *= 2)
    EXPECT_NE(model.plan(Operation::all_reduce, Bytes(size), {all_of(*cluster)}).protocol, Protocol::ll128);
}

TEST(CollectiveModel, AnImpossibleForcedAlgorithmIsRefused) {
  const auto cluster = cluster_of(request_of("dgx-a100-80g", 1));
  const CollectiveModel model(cluster, ideal_links());
  EXPECT_THROW(
      (void)model.plan(Operation::all_reduce, mebibytes(1), {all_of(*cluster)}, forced(Algorithm::nvls)),
      std::invalid_argument);
  EXPECT_THROW(
      (void)model.plan(Operation::all_gather, mebibytes(1), {all_of(*cluster)}, forced(Algorithm::tree)),
      std::invalid_argument);
}

TEST(CollectiveModel, FewerForcedChannelsAreSlowerAndTakeFewerSms) {
  const auto cluster = cluster_of(request_of("dgx-a100-80g", 1));
  const CollectiveModel model(cluster, ideal_links(8.0));
  const auto at = [&](int channels) {
    return model.plan(Operation::all_reduce, gibibytes(1), {all_of(*cluster)},
                      forced(Algorithm::ring, Protocol::simple, channels));
  };
  EXPECT_EQ(at(2).sms, 2);
  EXPECT_NEAR(at(2).rate_ceiling.value / at(24).rate_ceiling.value, 2.0 / 24, 1e-9);
  EXPECT_GT(at(2).time_alone, at(12).time_alone);
}

/// Data-parallel groups of a tensor-parallel run: one for each local rank.
std::vector<Group> strided_groups(const Cluster& cluster) {
  std::vector<Group> groups(static_cast<std::size_t>(cluster.gpus_per_node()));
  for (int rank = 0; rank < cluster.gpu_count(); ++rank)
    groups[static_cast<std::size_t>(rank % cluster.gpus_per_node())].ranks.push_back(rank);
  return groups;
}

// Eight groups over one NIC each take an eighth of it; over eight NICs they don't meet.
TEST(CollectiveModel, GroupsThatMoveAtOnceShareTheNicsTheyMeetOn) {
  const auto ethernet = cluster_of(request_of("hgx-h100", 2, "ethernet-10g"));
  const CollectiveModel slow(ethernet, ideal_links());
  const auto groups = strided_groups(*ethernet);
  const auto force = forced(Algorithm::ring);
  const double one = slow.plan(Operation::all_reduce, endless, {groups[0]}, force).time_alone.value;
  const double all = slow.plan(Operation::all_reduce, endless, groups, force).time_alone.value;
  EXPECT_NEAR(all / one, 8, 1e-6);
  const auto rails = cluster_of(request_of("hgx-h100", 2));
  const CollectiveModel fast(rails, ideal_links());
  EXPECT_NEAR(fast.plan(Operation::all_reduce, endless, groups, force).time_alone.value /
                  fast.plan(Operation::all_reduce, endless, {groups[0]}, force).time_alone.value,
              1, 1e-6);
}

// Folded runs pass all groups, unfolded ones each by itself: both must choose alike.
TEST(CollectiveModel, TheChoiceOfAGroupDoesNotDependOnTheOthers) {
  const auto cluster = cluster_of(request_of("hgx-h100", 2, "ethernet-10g"));
  const CollectiveModel model(cluster, ideal_links());
  const auto groups = strided_groups(*cluster);
  for (double size = 1e3; size < 1e10; size *= 2) {
    const auto all = model.plan(Operation::all_reduce, Bytes(size), groups);
    const auto one = model.plan(Operation::all_reduce, Bytes(size), {groups[0]});
    EXPECT_EQ(all.algorithm, one.algorithm);
    EXPECT_EQ(all.protocol, one.protocol);
    EXPECT_EQ(all.latency, one.latency);
    EXPECT_EQ(all.rate_ceiling, one.rate_ceiling);
  }
}

// Leaves of 4 nodes, 2:1 oversubscribed: a ring by node order crosses the spines once a leaf and direction.
TEST(CollectiveModel, OversubscribedSpinesCarryOnlyTheRingsEdges) {
  ClusterRequest request = request_of("hgx-h100", 8);
  request.topology = "leaf-spine";
  request.oversubscription = 2;
  const auto cluster = cluster_of(request);
  const CollectiveModel model(cluster, ideal_links());
  const auto plan = model.plan(Operation::all_gather, endless, {all_of(*cluster)}, forced(Algorithm::ring));
  const auto most = heaviest(model, plan);
  ASSERT_TRUE(most.count(LinkKind::fabric));
  EXPECT_NEAR(most.at(LinkKind::fabric), 63.0 / 64, 1e-9);
}

TEST(CollectiveModel, RailOnlyNetworksCarryRingsAndAllToAlls) {
  ClusterRequest request = request_of("hgx-h100", 4);
  request.topology = "rail-only";
  const auto cluster = cluster_of(request);
  const CollectiveModel model(cluster, ideal_links());
  for (const auto operation : {Operation::all_reduce, Operation::all_gather, Operation::all_to_all})
    EXPECT_GT(model.plan(operation, gibibytes(1), {all_of(*cluster)}).time_alone.value, 0);
}

TEST(CollectiveModel, SixteenThousandRanksTakeAFractionOfASecond) {
  const auto cluster = cluster_of(request_of("hgx-h100", 2048));
  const CollectiveModel model(cluster, ideal_links());
  const Group all = all_of(*cluster);
  const auto start = std::chrono::steady_clock::now();
  const auto plan = model.plan(Operation::all_reduce, gibibytes(1), {all});
  const auto gather = model.plan(Operation::all_gather, gibibytes(1), {all});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("milliseconds", static_cast<int>(seconds * 1e3));
  EXPECT_GT(plan.time_alone.value, 0);
  EXPECT_GT(gather.time_alone, plan.time_alone);
  EXPECT_LT(seconds, 5);  // far above what it takes (0.1 s), for slow and busy machines
}

}  // namespace
}  // namespace stepcast
