// What all-to-all, NVLS gathers, CollNet and PAT put on the links, and groups of unusual shape.
#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "tests/sim/collective/clusters.hpp"

namespace stepcast {
namespace {

using namespace test;

std::map<int, double> by_link(const CollectivePlan& plan) {
  std::map<int, double> weights;
  for (const auto& [id, weight] : *plan.loads) weights[id] = weight;
  return weights;
}

/// Greatest weight on a link of the kind.
double heaviest(const CollectiveModel& model, const CollectivePlan& plan, LinkKind kind) {
  double most = 0;
  for (const auto& [id, weight] : *plan.loads)
    if (model.cluster().links()[static_cast<std::size_t>(id)].kind == kind) most = std::max(most, weight);
  return most;
}

struct AllToAllCase {
  const char* node;
  int nodes;
  const char* topology;
  const char* routing;
};

class AllToAll : public testing::TestWithParam<AllToAllCase> {};

// The sum over leaves and kinds of nodes is that over all pairs of ranks, each of which carries S/n.
TEST_P(AllToAll, LoadsEveryLinkAsTheSumOverAllPairsOfRanks) {
  ClusterRequest request = request_of(GetParam().node, GetParam().nodes);
  request.topology = GetParam().topology;
  request.routing = GetParam().routing;
  request.fabric.leaf_ports = 32;
  NodeGroup slower{2, 1, request.node, gigabytes_per_second(20), {}};
  request.node_groups.push_back(slower);
  const auto cluster = cluster_of(request);
  const CollectiveModel model(cluster, ideal_links());
  Group uneven = all_of(*cluster);  // one rank less on the first node
  uneven.ranks.erase(uneven.ranks.begin());
  std::map<int, double> expected;
  for (const int from : uneven.ranks)
    for (const int to : uneven.ranks)
      if (from != to)
        for (const auto& [link, weight] : by_link(model.plan(Operation::send_recv, mebibytes(1),
                                                             {Group{{from, to}}}, forced(Algorithm::direct))))
          expected[link] += weight / static_cast<double>(uneven.ranks.size());
  const auto found = by_link(model.plan(Operation::all_to_all, mebibytes(1), {uneven}));
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [link, weight] : expected)
    EXPECT_NEAR(found.at(link), weight, 1e-9 * weight) << cluster->link_name(link);
}

INSTANTIATE_TEST_SUITE_P(Clusters, AllToAll,
                         testing::Values(AllToAllCase{"hgx-h100", 5, "leaf-spine", "spray"},
                                         AllToAllCase{"dgx-a100-80g", 4, "rail-optimized", "spray"},
                                         AllToAllCase{"dgx-1-v100-16g", 4, "fat-tree", "ecmp"}));

TEST(AllToAllAtScale, SixteenThousandRanksTakeSecondsNotHours) {
  ClusterRequest request = request_of("hgx-h100", 2048);
  request.topology = "rail-optimized";
  const auto cluster = cluster_of(request);
  const CollectiveModel model(cluster, ideal_links());
  const auto start = std::chrono::steady_clock::now();
  const auto plan = model.plan(Operation::all_to_all, gibibytes(1), {all_of(*cluster)});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("milliseconds", static_cast<int>(seconds * 1e3));
  // A card carries what its GPU sends to the 16,376 ranks of other nodes.
  EXPECT_NEAR(heaviest(model, plan, LinkKind::nic), 16376.0 / 16384, 1e-6);
  EXPECT_LT(seconds, 30);  // far above what it takes; 2.7e8 pairs of ranks would take longer
}

// The switch copies and reduces: a gathering GPU sends its eighth once and receives S; 1 at 315 GB/s is 315
// GB/s of algorithm bandwidth.
TEST(NvlsGather, SendsAnEighthAndReceivesAll) {
  const auto cluster = cluster_of(request_of("hgx-h100", 1));
  const CollectiveModel model(cluster, ideal_links());
  for (const auto operation : {Operation::all_gather, Operation::reduce_scatter}) {
    const auto plan = model.plan(operation, endless, {all_of(*cluster)}, forced(Algorithm::nvls));
    for (const auto& [id, weight] : *plan.loads) {
      const Link& link = cluster->links()[static_cast<std::size_t>(id)];
      const bool from_gpu = cluster->devices()[static_cast<std::size_t>(link.from)].kind == DeviceKind::gpu;
      EXPECT_NEAR(weight, from_gpu == (operation == Operation::all_gather) ? 1.0 / 8 : 1, 1e-12);
    }
  }
}

NcclOptions with_collnet() {
  NcclOptions nccl;
  nccl.collnet = true;
  return nccl;
}

// Each card carries S/8 up and down, however many nodes there are, and its latency stays that of one network
// hop.
TEST(CollNet, CarriesThePayloadOnceAndWaitsOnceOnAnyNumberOfNodes) {
  double latency = 0;
  for (const int nodes : {2, 16, 64}) {
    ClusterRequest request = request_of("hgx-h100", nodes);
    request.topology = "leaf-spine";
    request.fabric.sharp = true;
    request.fabric.switch_latency = Seconds{};
    const auto cluster = cluster_of(request);
    const CollectiveModel model(cluster, ideal_links(), {{}, with_collnet()});
    for (const auto algorithm : {Algorithm::collnet_chain, Algorithm::collnet_direct}) {
      const auto plan = model.plan(Operation::all_reduce, Bytes(1024), {all_of(*cluster)}, forced(algorithm));
      EXPECT_NEAR(heaviest(model, plan, LinkKind::nic), 1.0 / 8, 1e-12);
      if (algorithm != Algorithm::collnet_direct) continue;
      if (latency > 0) {
        EXPECT_NEAR(plan.latency.value, latency, 0.1e-6);  // but for the filling of the pipeline
      }
      latency = plan.latency.value;
    }
    // From a leaf to the root and back S, whatever hangs below it: 8 NICs' eighths.
    const auto plan =
        model.plan(Operation::all_reduce, endless, {all_of(*cluster)}, forced(Algorithm::collnet_chain));
    if (nodes == 16) {  // three leaves of four nodes meet at the root's
      EXPECT_NEAR(heaviest(model, plan, LinkKind::fabric), 3, 1e-9);
    }
  }
}

TEST(CollNet, NeedsSwitchesThatReduce) {
  const auto cluster = cluster_of(request_of("hgx-h100", 2));
  const CollectiveModel model(cluster, ideal_links(), {{}, with_collnet()});
  EXPECT_THROW((void)model.plan(Operation::all_reduce, mebibytes(1), {all_of(*cluster)},
                                forced(Algorithm::collnet_chain)),
               std::invalid_argument);
}

// Six nodes with one rank: 1 + 2 + 2 sixths leave every card, as with a ring, in three steps instead of five.
TEST(Pat, SendsWhatARingSendsInLogarithmicSteps) {
  const auto cluster = cluster_of(request_of("hgx-h100", 6, "infiniband-400g", 1));
  const CollectiveModel model(cluster, ideal_links());
  for (const auto operation : {Operation::all_gather, Operation::reduce_scatter}) {
    const auto plan = model.plan(operation, kibibytes(1), {all_of(*cluster)}, forced(Algorithm::pat));
    EXPECT_NEAR(heaviest(model, plan, LinkKind::nic), 5.0 / 6, 1e-12);
    // 8 + 3 (4 + 1.3 * 1.5) + 6 * 2.8 = 42.65 us before it fills its pipeline.
    EXPECT_NEAR(plan.latency.value, 42.65e-6, 0.5e-6);
  }
  // A ring of 32 ranks waits for 31 network steps: 6.6 + 31 * 5 us even with LL, PAT 117.6 us.
  const auto many = cluster_of(request_of("hgx-h100", 32, "infiniband-400g", 1));
  EXPECT_EQ(CollectiveModel(many, ideal_links())
                .plan(Operation::all_gather, kibibytes(64), {all_of(*many)})
                .algorithm,
            Algorithm::pat);
  EXPECT_THROW(
      (void)model.plan(Operation::all_reduce, kibibytes(1), {all_of(*cluster)}, forced(Algorithm::pat)),
      std::invalid_argument);
}

TEST(Groups, OfAnyShapeHaveAWayThatCarriesTheirBytes) {
  const auto cluster = cluster_of(request_of("hgx-h100", 3));
  const CollectiveModel model(cluster, ideal_links());
  const Group uneven{{0, 1, 2, 3, 8, 9, 16}}, inside{{2, 5, 6}}, rail{{3, 11, 19}};
  for (const auto operation : {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
                               Operation::broadcast, Operation::reduce, Operation::all_to_all})
    for (const auto& group : {uneven, inside, rail})
      for (const double size : {1e3, 1e6, 1e9}) {
        const auto plan = model.plan(operation, Bytes(size), {group});
        EXPECT_GT(plan.time_alone, plan.latency);
        EXPECT_FALSE(plan.loads->empty());
      }
  // The node with one rank has one card for the rings: 2 * 6/7 S each way on it.
  const auto plan = model.plan(Operation::all_reduce, endless, {uneven}, forced(Algorithm::ring));
  EXPECT_NEAR(heaviest(model, plan, LinkKind::nic), 12.0 / 7, 1e-12);
}

// What the scenario forces holds for the model: protocol, algorithm where the operation has it, channels.
TEST(NcclOptions, ForceWhatTheyName) {
  const auto cluster = cluster_of(request_of("hgx-h100", 2));
  NcclOptions nccl;
  nccl.algorithms = {Algorithm::tree};
  nccl.protocols = {Protocol::simple};
  nccl.max_channels = 4;
  const CollectiveModel model(cluster, ideal_links(), {{}, nccl});
  const auto plan = model.plan(Operation::all_reduce, gibibytes(1), {all_of(*cluster)});
  EXPECT_EQ(plan.algorithm, Algorithm::tree);
  EXPECT_EQ(plan.protocol, Protocol::simple);
  EXPECT_EQ(plan.sms, 4);
  EXPECT_EQ(model.plan(Operation::all_gather, gibibytes(1), {all_of(*cluster)}).algorithm, Algorithm::ring);
  const CollectiveModel free(cluster, ideal_links());
  EXPECT_LT(free.plan(Operation::all_reduce, gibibytes(1), {all_of(*cluster)}).time_alone, plan.time_alone);
}

// Without peer access each slot of 31.5 GB/s carries what its GPU writes to the host and what it reads from
// there: a broadcast passes through in one direction (the last GPU only reads), an all_reduce of a pair in
// both.
TEST(StagedNeighbours, ShareASlotBetweenBothDirections) {
  const auto cluster = cluster_of(request_of("pcie-rtx-4090", 1, "roce-100g", 2));
  const CollectiveModel model(cluster, ideal_links(8.9));
  EXPECT_NEAR(plateau(model, Operation::broadcast, all_of(*cluster), forced(Algorithm::ring)), 31.5, 1e-6);
  EXPECT_NEAR(plateau(model, Operation::all_reduce, all_of(*cluster), forced(Algorithm::ring)), 31.5 / 2,
              1e-6);
  ClusterRequest peers = request_of("pcie-rtx-4090", 1, "roce-100g", 2);
  peers.node.pcie_peer_to_peer = true;
  const auto direct = cluster_of(peers);
  EXPECT_NEAR(plateau(CollectiveModel(direct, ideal_links(8.9)), Operation::all_reduce, all_of(*direct),
                      forced(Algorithm::ring)),
              31.5, 1e-6);
}

// EFA without GPUDirect: 2.8 GB/s for each GPU of a node that stages, until the card's 0.95 of 12.5 GB/s is
// full.
TEST(StagedNetwork, CarriesWhatTheGpusOfANodePassThroughTheirHost) {
  for (const int gpus : {1, 2, 8}) {
    ClusterRequest request = request_of("hgx-h100", 2, "efa-100g", gpus);
    request.node.gpudirect = false;
    request.fabric.nics_per_node = 1;
    const auto cluster = cluster_of(request);
    const CollectiveModel model(cluster, ideal_links());
    const double card = 12.5 * request.fabric.efficiency;
    EXPECT_NEAR(plateau(model, Operation::all_gather, all_of(*cluster), forced(Algorithm::ring)),
                std::min(gpus * 2.8, card), 1e-3);
  }
}

// 47.5 GB/s of a 400 Gb/s card, or 21.3 for each channel of a peer: two channels up to 4 nodes of 8, one from
// 5 on.
TEST(SendRecv, HalvesWithTheChannelsOfAPeer) {
  const auto rate = [](int nodes, int channels_per_net_peer = 0) {
    const auto cluster = cluster_of(request_of("hgx-h100", nodes));
    NcclOptions nccl;
    nccl.channels_per_net_peer = channels_per_net_peer;
    const CollectiveModel model(cluster, ideal_links(), {{}, nccl});
    const auto plan = model.plan(Operation::send_recv, endless, {all_of(*cluster)});
    return endless.value / plan.time_alone.value / 1e9;
  };
  EXPECT_NEAR(rate(4), 42.6, 0.01);
  EXPECT_NEAR(rate(5), 21.3, 0.01);
  EXPECT_NEAR(rate(5, 2), 42.6, 0.01);
}

// Two messages that leave by the same card take twice as long as one; by two cards they do not meet.
TEST(SendRecv, OfAGroupMoveAtOnce) {
  ClusterRequest request = request_of("hgx-h100", 3, "infiniband-100g");
  const auto cluster = cluster_of(request);
  const CollectiveModel model(cluster, ideal_links());
  const auto time = [&](const std::vector<Group>& pairs) {
    return model.plan(Operation::send_recv, endless, pairs).time_alone.value;
  };
  const double one = time({Group{{0, 8}}});
  EXPECT_NEAR(time({Group{{0, 8}}, Group{{0, 16}}}) / one, 2, 1e-6);
  EXPECT_NEAR(time({Group{{0, 8}}, Group{{1, 9}}}) / one, 1, 1e-6);
}

// NVLS has Simple only: without it the ring is left.
TEST(NcclOptions, AProtocolLeavesOutAlgorithmsThatLackIt) {
  const auto cluster = cluster_of(request_of("hgx-h100", 1));
  NcclOptions nccl;
  nccl.protocols = {Protocol::ll128};
  const CollectiveModel model(cluster, ideal_links(), {{}, nccl});
  const auto plan = model.plan(Operation::all_reduce, gibibytes(1), {all_of(*cluster)});
  EXPECT_EQ(plan.protocol, Protocol::ll128);
  EXPECT_NE(plan.algorithm, Algorithm::nvls);
}

// 16 sockets of 1 GB/s against four: 10 GB/s of the wire instead of 4.
TEST(NcclOptions, TunedSocketsReachWhatTheWireCarries) {
  const auto cluster = cluster_of(request_of("hgx-h100", 2, "ethernet-100g", 1));
  NcclOptions tuned;
  tuned.tuned_sockets = true;
  const CollectiveModel model(cluster, ideal_links(), {{}, tuned});
  EXPECT_NEAR(plateau(model, Operation::all_reduce, all_of(*cluster), {}), 10, 1e-6);
}

// Without PXN what an A100 sends by its neighbour's card goes through the hosts.
TEST(NcclOptions, WithoutPxnGpusKeepOffTheirNeighboursNvlink) {
  ClusterRequest request = request_of("hgx-h100", 2);
  request.topology = "rail-optimized";
  const auto nvlink_used = [&](bool pxn) {
    request.pxn = pxn;
    const auto cluster = cluster_of(request);
    const CollectiveModel model(cluster, ideal_links());
    // Rings of groups with one rank per node enter and leave by its own card; two ranks hand over.
    const auto plan =
        model.plan(Operation::all_gather, endless, {Group{{0, 1, 8, 9}}}, forced(Algorithm::ring));
    return heaviest(model, plan, LinkKind::nvlink);
  };
  EXPECT_GT(nvlink_used(true), nvlink_used(false));
}

}  // namespace
}  // namespace stepcast
