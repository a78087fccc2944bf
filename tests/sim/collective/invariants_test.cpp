// The invariants of collectives I1 to I7, each under its number. I8 (transfers of one communicator never
// overlap) is the engine's.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "sim/collective/latency.hpp"
#include "tests/sim/collective/clusters.hpp"

namespace stepcast {
namespace {

using namespace test;

// 8 ranks, 1 GB in 10 ms: 2 * 7/8 * 100 = 175 GB/s; half of it for a gather; 100 for a broadcast.
TEST(I1, BusBandwidthIsThatOfNcclTests) {
  const auto bus = [](Operation operation) {
    return CollectiveModel::bus_bandwidth(operation, Bytes(1e9), 8, Seconds(0.01)).value / 1e9;
  };
  EXPECT_NEAR(bus(Operation::all_reduce), 175, 1e-9);
  EXPECT_NEAR(bus(Operation::all_gather), 87.5, 1e-9);
  EXPECT_NEAR(bus(Operation::reduce_scatter), 87.5, 1e-9);
  EXPECT_NEAR(bus(Operation::all_to_all), 87.5, 1e-9);
  EXPECT_NEAR(bus(Operation::broadcast), 100, 1e-9);
  EXPECT_NEAR(bus(Operation::reduce), 100, 1e-9);
  EXPECT_EQ(CollectiveModel::bus_bandwidth(Operation::all_reduce, Bytes(1e9), 1, Seconds{}).value, 0);
}

/// Sum of the weights on links that leave (or enter) devices of `kind` in one node, or in all of them.
double bytes_at(const CollectiveModel& model, const CollectivePlan& plan, DeviceKind kind, bool leaving) {
  double sum = 0;
  for (const auto& [id, weight] : *plan.loads) {
    const Link& link = model.cluster().links()[static_cast<std::size_t>(id)];
    const int device = leaving ? link.from : link.to;
    if (model.cluster().devices()[static_cast<std::size_t>(device)].kind == kind) sum += weight;
  }
  return sum;
}

// 8 GPUs on a switch: each sends 2 * 7/8 S, 14 S in all; a gather sends half; a broadcast ends at the last
// rank, 7 S.
TEST(I2, EveryRankOfARingSendsAndReceivesItsShare) {
  const auto cluster = cluster_of(request_of("dgx-a100-80g", 1));
  const CollectiveModel model(cluster, ideal_links());
  const std::map<Operation, double> expected{{Operation::all_reduce, 14},
                                             {Operation::all_gather, 7},
                                             {Operation::reduce_scatter, 7},
                                             {Operation::broadcast, 7},
                                             {Operation::reduce, 7}};
  for (const auto& [operation, bytes] : expected) {
    const auto plan = model.plan(operation, mebibytes(64), {all_of(*cluster)}, forced(Algorithm::ring));
    EXPECT_NEAR(bytes_at(model, plan, DeviceKind::gpu, true), bytes, 1e-9) << name_of(operation);
    EXPECT_NEAR(bytes_at(model, plan, DeviceKind::gpu, false), bytes, 1e-9) << name_of(operation);
  }
}

// What leaves the NICs arrives at NICs: 4 nodes of 8, each crossing carries 2 * 31/32 S: 4 crossings, 7.75 S.
TEST(I2, BytesThatLeaveTheNicsArriveAtTheNics) {
  const auto cluster = cluster_of(request_of("hgx-h100", 4));
  const CollectiveModel model(cluster, ideal_links());
  const auto plan =
      model.plan(Operation::all_reduce, mebibytes(64), {all_of(*cluster)}, forced(Algorithm::ring));
  double sent = 0, received = 0;
  for (const auto& [id, weight] : *plan.loads) {
    const Link& link = cluster->links()[static_cast<std::size_t>(id)];
    if (link.kind != LinkKind::nic) continue;
    const bool out = cluster->devices()[static_cast<std::size_t>(link.from)].kind == DeviceKind::nic;
    (out ? sent : received) += weight;
  }
  EXPECT_NEAR(sent, 7.75, 1e-9);
  EXPECT_NEAR(received, 7.75, 1e-9);
}

TEST(I3, OneRankNeverCommunicates) {
  const auto cluster = cluster_of(request_of("hgx-h100", 2));
  const CollectiveModel model(cluster, ideal_links());
  for (const auto operation : {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
                               Operation::broadcast, Operation::reduce, Operation::all_to_all}) {
    const auto plan = model.plan(operation, gibibytes(1), {Group{{3}}});
    EXPECT_EQ(plan.time_alone.value, 0);
    EXPECT_EQ(plan.latency.value, 0);
    EXPECT_TRUE(plan.loads->empty());
    EXPECT_EQ(plan.sms, 0);
    EXPECT_EQ(plan.memory_per_byte, 0);
  }
}

TEST(I4, RingsTakeNcclsSteps) {
  EXPECT_EQ(ring_steps(Operation::all_reduce, 32), 62);  // 2 (n - 1), of which 2 (4 - 1) between 4 nodes
  EXPECT_EQ(ring_steps(Operation::all_reduce, 4), 6);
  EXPECT_EQ(ring_steps(Operation::all_gather, 32), 31);
  EXPECT_EQ(ring_steps(Operation::reduce_scatter, 32), 31);
}

/// NICs of 50 GB/s and nothing else that limits.
ClusterRequest only_nics(int nodes) {
  ClusterRequest request = request_of("hgx-h100", nodes);
  request.node.nvlink_rate_per_link = gigabytes_per_second(1e6);
  request.node.pcie_rate = gigabytes_per_second(1e6);
  request.node.socket_rate = gigabytes_per_second(1e6);
  request.fabric.link_rate = gigabytes_per_second(50);
  request.fabric.efficiency = 1;
  return request;
}

// A NIC carries 2 * 3/4 * S/8 = 0.1875 S: S in 0.1875 S / 50 GB/s is 266.67 GB/s, times 2 * 31/32 is 516.67
// GB/s.
TEST(I5, HierarchicalRingsOverRailsReach516Point67) {
  const auto cluster = cluster_of(only_nics(4));
  const CollectiveModel model(cluster, ideal_links());
  const auto force = forced(Algorithm::hierarchical);
  EXPECT_NEAR(plateau(model, Operation::all_reduce, all_of(*cluster), force), 516.67, 0.005);
  const auto plan = model.plan(Operation::all_reduce, endless, {all_of(*cluster)}, force);
  for (const auto& [id, weight] : *plan.loads) {
    const bool nic = cluster->links()[static_cast<std::size_t>(id)].kind == LinkKind::nic;
    EXPECT_TRUE(!nic || std::abs(weight - 0.1875) < 1e-12) << weight;
  }
}

// The ring's NICs carry 2 * 31/32 S / 8 each: bus bandwidth is that of the eight NICs, 400 GB/s.
TEST(I5, FlatRingsOverTheSameNicsReachTheirSum) {
  const auto cluster = cluster_of(only_nics(4));
  const CollectiveModel model(cluster, ideal_links());
  EXPECT_NEAR(plateau(model, Operation::all_reduce, all_of(*cluster), forced(Algorithm::ring)), 400, 0.01);
}

TEST(I6, AllReduceIsReduceScatterPlusAllGatherInTheBandwidthLimit) {
  for (const int nodes : {1, 4}) {
    const auto cluster = cluster_of(request_of("dgx-a100-80g", nodes, "infiniband-200g"));
    const CollectiveModel model(cluster, ideal_links());
    const auto time = [&](Operation operation) {
      return model.plan(operation, endless, {all_of(*cluster)}, forced(Algorithm::ring)).time_alone.value;
    };
    EXPECT_NEAR(time(Operation::all_reduce) / (time(Operation::reduce_scatter) + time(Operation::all_gather)),
                1, 1e-6);
  }
}

struct Shape {
  const char* node;
  int nodes;
  const char* fabric;
};

class I7 : public testing::TestWithParam<Shape> {};

TEST_P(I7, TimeNeverFallsWithSizeNorRisesWithLinkRateAndNeverBeatsItsLatency) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical})
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
      for (const int channels : {1, 2, 8, 16, 64}) {
        std::vector<double> slower;
        for (const double factor : {0.5, 1.0, 4.0}) {
          ClusterRequest request = request_of(GetParam().node, GetParam().nodes, GetParam().fabric);
          request.fabric.link_rate = factor * request.fabric.link_rate;
          request.node.nvlink_rate_per_link = factor * request.node.nvlink_rate_per_link;
          request.node.pcie_rate = factor * request.node.pcie_rate;
          const auto cluster = cluster_of(request);
          const CollectiveModel model(cluster, ideal_links());
          std::vector<double> times;
          for (double size = 8; size <= 1e10; size *= 3.7) {
            const auto plan = model.plan(Operation::all_reduce, Bytes(size), {all_of(*cluster)},
                                         forced(algorithm, protocol, channels));
            EXPECT_GE(plan.time_alone, plan.latency);
            EXPECT_GE(plan.time_alone.value, times.empty() ? 0 : times.back());
            times.push_back(plan.time_alone.value);
          }
          for (std::size_t i = 0; i < slower.size(); ++i) EXPECT_LE(times[i], slower[i] * (1 + 1e-12));
          slower = times;
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Clusters, I7,
                         testing::Values(Shape{"hgx-h100", 1, "infiniband-400g"},
                                         Shape{"hgx-h100", 4, "infiniband-400g"},
                                         Shape{"hgx-h100", 2, "ethernet-10g"},
                                         Shape{"dgx-1-v100-16g", 2, "infiniband-100g"},
                                         Shape{"pcie-rtx-4090", 3, "ethernet-25g"}));

// The free choice is a minimum of such curves and keeps the law.
TEST(I7, TheFreeChoiceKeepsTheLaw) {
  for (const int nodes : {1, 2, 5}) {
    const auto cluster = cluster_of(request_of("hgx-h100", nodes));
    const CollectiveModel model(cluster, ideal_links());
    double before = 0;
    for (double size = 8; size <= 1e11; size *= 1.7) {
      const auto plan = model.plan(Operation::all_reduce, Bytes(size), {all_of(*cluster)});
      EXPECT_GE(plan.time_alone.value, before);
      before = plan.time_alone.value;
    }
  }
}

TEST(I7, MoreRanksTakeNoLessTimeOnTheSameTopology) {
  const auto cluster = cluster_of(request_of("dgx-a100-80g", 4, "infiniband-200g"));
  const CollectiveModel model(cluster, ideal_links());
  for (const double size : {1e3, 1e6, 1e9}) {
    double before = 0;
    for (const int ranks : {2, 3, 4, 8, 16, 24, 32}) {
      Group group = all_of(*cluster);
      group.ranks.resize(static_cast<std::size_t>(ranks));
      const auto time =
          model.plan(Operation::all_reduce, Bytes(size), {group}, forced(Algorithm::ring)).time_alone.value;
      EXPECT_GE(time, before) << ranks << " ranks, " << size << " bytes";
      before = time;
    }
  }
}

// Bus bandwidth meets the link limit from below: 300 GB/s of NVLink on an A100. In-switch reduction may pass
// it.
TEST(I7, BusBandwidthStaysBelowTheLinkExceptWhereTheSwitchReduces) {
  const auto a100 = cluster_of(request_of("dgx-a100-80g", 1));
  const CollectiveModel ring(a100, ideal_links());
  EXPECT_NEAR(plateau(ring, Operation::all_reduce, all_of(*a100), {}), 300, 1e-3);
  const auto h100 = cluster_of(request_of("hgx-h100", 1));
  const CollectiveModel nvls(h100, ideal_links());
  // 450 * 0.7 / (1 + 1/8) of algorithm bandwidth, times 2 * 7/8.
  EXPECT_NEAR(plateau(nvls, Operation::all_reduce, all_of(*h100), {}), 490, 1e-3);
}

}  // namespace
}  // namespace stepcast
