// Measured collectives at other rates and ranks, against made-up machines whose true times are known.
#include "sim/collective/fitted_curve.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/collective/measured.hpp"
#include "tests/sim/collective/clusters.hpp"

namespace stepcast {
namespace {

using namespace test;

// A ring over one card a node: every step costs 80 us; the wire carries 0.94 of the line rate (docs: the
// efficiency of Ethernet), and 0.5 ns a byte sent goes for copies and sums, during which the wire waits.
Seconds truth(Operation operation, double size, int ranks, double gigabits) {
  const RingShape ring = ring_shape(operation, ranks);
  const double wire = 8 / (0.94 * gigabits * 1e9), rest = 0.5e-9;
  return Seconds(ring.steps * 80e-6 + ring.bytes * size * (wire + rest));
}
// 30 us a step and 0.8 ns a byte of CPU.
Seconds cpu_truth(Operation operation, double size, int ranks) {
  const RingShape ring = ring_shape(operation, ranks);
  return Seconds(ring.steps * 30e-6 + ring.bytes * size * 0.8e-9);
}

MeasuredCollective measured_pair(Operation operation) {
  MeasuredCollective entry;
  entry.operation = name_of(operation);
  entry.fabric = "ethernet-1g";
  entry.ranks = entry.nodes = 2;
  entry.link_rate = gigabits_per_second(1);
  for (const double size : {1024.0, 65536.0, 1048576.0, 16777216.0}) {
    entry.points.emplace_back(Bytes(size), truth(operation, size, 2, 1));
    entry.cpu_points.emplace_back(Bytes(size), cpu_truth(operation, size, 2));
  }
  return entry;
}

CollectivePlan predicted(const MeasuredCollective& entry, Operation operation, double size, int nodes,
                         double gigabits) {
  ClusterRequest request = request_of("cpu-host", nodes, "ethernet-1g");
  request.fabric.link_rate = gigabits_per_second(gigabits);
  Profile profile = ideal_links();
  profile.collectives.push_back(entry);
  const auto cluster = cluster_of(request);
  const CollectiveModel model(cluster, profile);
  return model.plan(operation, Bytes(size), {all_of(*cluster)});
}

TEST(FittedCurve, FindsTheLineBesideAnOutlierAndKeepsEveryPoint) {
  std::vector<std::pair<Bytes, Seconds>> points;
  for (double size = 1024; size < 1e8; size *= 4)
    points.emplace_back(Bytes(size), Seconds(1e-4 + 8e-9 * size));
  points[3].second = 3 * points[3].second;
  const FittedCurve curve(points);
  EXPECT_NEAR(curve.latency().value, 1e-4, 1e-8);
  EXPECT_NEAR(curve.slope(), 8e-9, 1e-13);
  for (const auto& [size, time] : points) EXPECT_EQ(curve.at(size), time);
}

TEST(FittedCurve, NeitherLatencyNorSlopeIsNegative) {
  const FittedCurve falling({{Bytes(1000), Seconds(2)}, {Bytes(2000), Seconds(1)}});
  EXPECT_EQ(falling.slope(), 0);
  EXPECT_GT(falling.latency(), Seconds(0));
  const FittedCurve steep({{Bytes(1000), Seconds(1)}, {Bytes(2000), Seconds(4)}});
  EXPECT_EQ(steep.latency(), Seconds(0));
}

// The what-if of a slower or faster line: only the wire's part scales.
TEST(ExtrapolatedCollective, AtAnotherLinkRateTheTruthIsFound) {
  for (const Operation operation :
       {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter}) {
    const MeasuredCollective entry = measured_pair(operation);
    for (const double gigabits : {0.2, 0.5, 2.5, 10.0}) {
      for (const double size : {4096.0, 3e5, 1e7}) {
        const CollectivePlan plan = predicted(entry, operation, size, 2, gigabits);
        const double time = truth(operation, size, 2, gigabits).value;
        EXPECT_NEAR(plan.time_alone.value, time, 1e-6 * time) << gigabits << " Gb/s, " << size << " bytes";
        EXPECT_TRUE(plan.extrapolated);
        EXPECT_FALSE(plan.measured);
        EXPECT_NEAR(plan.host_share, cpu_truth(operation, size, 2).value / time, 1e-6);
      }
    }
  }
}

TEST(ExtrapolatedCollective, WithMoreRanksStepsAndBytesAreTheRings) {
  const MeasuredCollective entry = measured_pair(Operation::all_reduce);
  for (const int nodes : {3, 4, 8}) {
    for (const double gigabits : {0.2, 1.0}) {
      for (const double size : {4096.0, 3e5, 1e7}) {
        const CollectivePlan plan = predicted(entry, Operation::all_reduce, size, nodes, gigabits);
        const double time = truth(Operation::all_reduce, size, nodes, gigabits).value;
        EXPECT_NEAR(plan.time_alone.value, time, 1e-6 * time) << nodes << " nodes, " << gigabits << " Gb/s";
        EXPECT_NEAR(plan.host_share, cpu_truth(Operation::all_reduce, size, nodes).value / time, 1e-6);
      }
    }
  }
}

// A shaped link that passes more than its efficiency says (goodput 0.97 of its rate): all of the slope is the
// wire's, so at a fifth of the rate a large call takes five times as long.
TEST(ExtrapolatedCollective, ALinkFasterThanItsEfficiencyKeepsItsOwn) {
  MeasuredCollective entry = measured_pair(Operation::all_reduce);
  for (auto& [size, time] : entry.points) time = Seconds(1e-4 + size.value * 8 / 0.97e9);
  const double time = 1e-4 + 1e7 * 8 / (0.97 * 0.2e9);
  EXPECT_NEAR(predicted(entry, Operation::all_reduce, 1e7, 2, 0.2).time_alone.value, time, 1e-6 * time);
}

// What alone is not on the line stays relative to it: a dip of a tenth at 64 KiB is one at the other rate,
// too.
TEST(ExtrapolatedCollective, WhatTheLineMissesStays) {
  MeasuredCollective entry = measured_pair(Operation::all_reduce);
  entry.points[1].second = 0.9 * entry.points[1].second;
  const double line = truth(Operation::all_reduce, 65536, 2, 1).value;
  const double slower = truth(Operation::all_reduce, 65536, 2, 0.2).value;
  const double found = predicted(entry, Operation::all_reduce, 65536, 2, 0.2).time_alone.value;
  EXPECT_NEAR(found, slower - 0.1 * line, 0.02 * slower);
}

// Of several measurements the one that differs least is taken: the same ranks at another rate before other
// ranks.
TEST(ExtrapolatedCollective, TheNearestMeasurementIsTaken) {
  const std::vector<MeasuredCollective> entries = [] {
    std::vector<MeasuredCollective> made(3, measured_pair(Operation::all_reduce));
    made[1].link_rate = gigabits_per_second(0.4);
    made[2].ranks = made[2].nodes = 4;
    return made;
  }();
  MeasuredQuery query{"all_reduce", 2, 2, 1, "ethernet-1g", "cpu-host", gigabits_per_second(0.2)};
  EXPECT_EQ(find_measured(entries, query).relative, &entries[1]);
  EXPECT_FALSE(find_measured(entries, query).other_ranks);
  query.ranks = query.nodes = 5;
  EXPECT_EQ(find_measured(entries, query).relative, &entries[2]);
  EXPECT_TRUE(find_measured(entries, query).other_ranks);
}

// NCCL changes its algorithm with the ranks: its model holds, only marked.
TEST(ExtrapolatedCollective, GpusWithOtherRanksKeepNcclsModel) {
  MeasuredCollective entry = measured_pair(Operation::all_reduce);
  entry.fabric = "infiniband-400g";
  const auto cluster = cluster_of(request_of("hgx-h100", 2));
  Profile profile = ideal_links();
  const CollectiveModel bare(cluster, profile);
  profile.collectives.push_back(entry);
  const CollectiveModel model(cluster, profile);
  const CollectivePlan plan = model.plan(Operation::all_reduce, mebibytes(1), {all_of(*cluster)});
  EXPECT_TRUE(plan.extrapolated);
  EXPECT_EQ(plan.time_alone, bare.plan(Operation::all_reduce, mebibytes(1), {all_of(*cluster)}).time_alone);
}

}  // namespace
}  // namespace stepcast
