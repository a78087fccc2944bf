#include "sim/collective/measured.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/collective/fitted_curve.hpp"
#include "tests/sim/collective/clusters.hpp"

namespace stepcast {
namespace {

using namespace test;

MeasuredCollective gigabit_pair() {
  MeasuredCollective entry;
  entry.operation = "all_reduce";
  entry.fabric = "ethernet-1g";
  entry.ranks = 2;
  entry.nodes = 2;
  entry.link_rate = gigabits_per_second(1);
  entry.points = {
      {kibibytes(1), microseconds(120)}, {mebibytes(1), Seconds(0.0174)}, {mebibytes(64), Seconds(0.9)}};
  entry.cpu_points = {{mebibytes(1), Seconds(0.003)}};
  return entry;
}

class Measured : public testing::Test {
 protected:
  CollectiveModel model_with(const MeasuredCollective& entry, double gigabits = 1, int nodes = 2) {
    ClusterRequest request = request_of("cpu-host", nodes, "ethernet-1g");
    request.fabric.link_rate = gigabits_per_second(gigabits);
    Profile profile = ideal_links();
    profile.collectives.push_back(entry);
    return CollectiveModel(cluster_of(request), profile);
  }
  static CollectivePlan plan(const CollectiveModel& model, Bytes size, int ranks = 2) {
    Group group;
    for (int rank = 0; rank < ranks; ++rank) group.ranks.push_back(rank);
    return model.plan(Operation::all_reduce, size, {group});
  }
};

TEST_F(Measured, AtAPointTheMeasuredTimeIsReturnedExactly) {
  const auto model = model_with(gigabit_pair());
  for (const auto& [size, time] : gigabit_pair().points) {
    const auto measured = plan(model, size);
    EXPECT_EQ(measured.time_alone, time);
    EXPECT_TRUE(measured.measured);
    EXPECT_FALSE(measured.extrapolated);
  }
}

// The engine rebuilds the time from latency, ceiling and loads, also where the measured rate beats the
// modelled link.
TEST_F(Measured, LatencyCeilingAndLoadsGiveTheMeasuredTime) {
  auto fast = gigabit_pair();
  for (auto& [size, time] : fast.points) time = 0.1 * time;
  for (const auto& entry : {gigabit_pair(), fast}) {
    const auto model = model_with(entry);
    for (const auto& [size, time] : entry.points) {
      const auto measured = plan(model, size);
      double rate = measured.rate_ceiling.value;
      for (const auto& [id, weight] : *measured.loads)
        rate = std::min(rate, model.usable_capacity(id).value / weight);
      EXPECT_NEAR((measured.latency + size / BytesPerSecond(rate)).value, time.value, 1e-9 * time.value);
    }
  }
}

// Between points of a host: a line through them times measured/line, whose logarithm is linear in ln(size).
// The three points lie on no line, so the ratios differ from 1.
TEST_F(Measured, BetweenPointsTheRatioIsInterpolated) {
  const auto model = model_with(gigabit_pair());
  const FittedCurve curve(gigabit_pair().points);
  const auto ratio = [&](Bytes size) { return plan(model, size).time_alone / curve.line(size); };
  EXPECT_NEAR(ratio(mebibytes(8)), std::sqrt(ratio(mebibytes(1)) * ratio(mebibytes(64))), 1e-9);
  EXPECT_NEAR(ratio(kibibytes(32)), std::sqrt(ratio(kibibytes(1)) * ratio(mebibytes(1))), 1e-9);
  EXPECT_NEAR(ratio(gibibytes(1)), ratio(mebibytes(64)), 1e-9);
  EXPECT_NEAR(ratio(Bytes(64)), ratio(kibibytes(1)), 1e-9);
}

// NCCL changes protocols, so on GPUs its model is what measured times are held against. H100s, 2 nodes of 8.
TEST_F(Measured, OnGpusNcclsModelIsInterpolated) {
  MeasuredCollective entry = gigabit_pair();
  entry.fabric = "infiniband-400g";
  entry.link_rate.reset();
  entry.ranks = 16;
  const auto cluster = cluster_of(request_of("hgx-h100", 2));
  Profile profile = ideal_links();
  const CollectiveModel bare(cluster, profile);
  profile.collectives.push_back(entry);
  const CollectiveModel model(cluster, profile);
  const auto ratio = [&](Bytes size) {
    return plan(model, size, 16).time_alone / plan(bare, size, 16).time_alone;
  };
  EXPECT_EQ(plan(model, mebibytes(1), 16).time_alone, entry.points[1].second);
  EXPECT_NEAR(ratio(mebibytes(8)), std::sqrt(ratio(mebibytes(1)) * ratio(mebibytes(64))), 1e-9);
}

// Gloo has one algorithm: where NCCL would change its protocol, a host's times jump nowhere. A step of 2 % in
// size moves the time by at most 2 %, and never down.
TEST_F(Measured, TimesOfAHostGrowSmoothly) {
  const auto model = model_with(gigabit_pair());
  for (double size = 512; size < 1e8; size *= 1.02) {
    const double grown = plan(model, Bytes(1.02 * size)).time_alone / plan(model, Bytes(size)).time_alone;
    EXPECT_GE(grown, 1) << size;
    EXPECT_LE(grown, 1.021) << size;
  }
}

TEST_F(Measured, OtherOperationsAndFabricsAreNotTouched) {
  auto other = gigabit_pair();
  other.operation = "all_gather";
  EXPECT_FALSE(plan(model_with(other), mebibytes(1)).measured);
  EXPECT_FALSE(plan(model_with(other), mebibytes(1)).extrapolated);
  auto fabric = gigabit_pair();
  fabric.fabric = "ethernet-10g";
  EXPECT_FALSE(plan(model_with(fabric), mebibytes(1)).extrapolated);
}

TEST(FindMeasured, BetweenNodesSaysNothingOfInsideOne) {
  const std::vector<MeasuredCollective> between{gigabit_pair()};
  MeasuredQuery query{"all_reduce", 4, 1, 4, "ethernet-1g", "cpu-host", gigabits_per_second(1)};
  EXPECT_EQ(find_measured(between, query).relative, nullptr);
  query.nodes = 4;
  query.per_node = 1;
  EXPECT_EQ(find_measured(between, query).relative, &between[0]);
}

// 3 ms of CPU time in a call of 17.4 ms.
TEST_F(Measured, CpuPointsGiveTheShareOfTheCore) {
  const auto model = model_with(gigabit_pair());
  EXPECT_NEAR(plan(model, mebibytes(1)).host_share, 3.0 / 17.4, 1e-12);
  EXPECT_EQ(plan(model, mebibytes(1)).sms, 0);
  auto without = gigabit_pair();
  without.cpu_points.clear();
  EXPECT_EQ(plan(model_with(without), mebibytes(1)).host_share, 0);
}

TEST(InterpolateRatio, IsGeometricBetweenAndConstantOutside) {
  const std::vector<std::pair<Bytes, double>> points{{Bytes(100), 1}, {Bytes(10000), 4}};
  EXPECT_DOUBLE_EQ(interpolate_ratio(points, Bytes(1000)), 2);
  EXPECT_DOUBLE_EQ(interpolate_ratio(points, Bytes(1)), 1);
  EXPECT_DOUBLE_EQ(interpolate_ratio(points, Bytes(1e9)), 4);
}

}  // namespace
}  // namespace stepcast
