#include "sim/report/anomalies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/sentences.hpp"
#include "tests/sim/report/example_report.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

/// Three link rates; 100, 200 and 400 Gb/s take 10, 12 and 11 ms.
Report slower_at_200() {
  Report report;
  report.swept = {"cluster.link_rate"};
  const std::pair<double, double> rates[] = {{100, 10e-3}, {200, 12e-3}, {400, 11e-3}};
  for (const auto& [rate, step] : rates) {
    PointReport point = example_point();
    set(point, "cluster.link_rate", Value::of(std::to_string(static_cast<int>(rate)) + " Gb/s"));
    point.network.name = "infiniband-400g";
    point.network.transport = Transport::infiniband;
    point.network.link_rate = gigabits_per_second(rate);
    point.network.efficiency = 0.95;
    point.network.nics_per_node = 8;
    point.step_time = Seconds(step);
    point.communication[0].choices = {{"ring", "Simple", 8, 4}};
    report.points.push_back(point);
  }
  return report;
}

// 12 ms against 10 ms at half the rate: 20 % longer; 11 ms against 10 ms: 10 %.
TEST(RateAnomalies, APointSlowerOnAFasterNetworkIsComparedWithTheShortestStepBelowIt) {
  const auto found = rate_anomalies(slower_at_200());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].point, 1U);
  EXPECT_EQ(found[0].slower_network, 0U);
  EXPECT_NEAR(found[0].longer, 0.2, 1e-12);
  EXPECT_EQ(found[1].point, 2U);
  EXPECT_NEAR(found[1].longer, 0.1, 1e-12);
  EXPECT_EQ(
      found[0].text,
      "slower on a faster network: 200 Gb/s takes 12.0 ms, 20.0 % longer than 100 Gb/s (10.0 ms): scheduling "
      "(the same calls meet other kernels and calls)");
}

// 10.05 ms is 0.5 % longer: below the 1 % from which an anomaly is told.
TEST(RateAnomalies, HalfAPercentIsNone) {
  Report report = slower_at_200();
  report.points[1].step_time = report.points[2].step_time = Seconds(10.05e-3);
  EXPECT_TRUE(rate_anomalies(report).empty());
}

TEST(RateAnomalies, PointsThatDifferInAnythingElseAreNotCompared) {
  Report report = slower_at_200();
  for (std::size_t i = 0; i < 3; ++i) set(report.points[i], "cluster.nodes", Value::of(std::int64_t(i + 1)));
  EXPECT_TRUE(rate_anomalies(report).empty());
}

TEST(RateAnomalies, NameTheCallsThatRunInAnotherWay) {
  Report report = slower_at_200();
  auto& row = report.points[1].communication[0];
  row.choices = {{"ring", "LL", 8, 4}};
  EXPECT_THAT(rate_anomalies(report)[0].text,
              HasSubstr("(10.0 ms): all_reduce (data parallel) runs as ring/LL instead of ring/Simple: each "
                        "communicator chooses as if it were alone"));
  row.choices = {{"ring", "Simple", 8, 3}, {"tree", "Simple", 8, 1}};
  EXPECT_THAT(rate_anomalies(report)[0].text,
              HasSubstr("all_reduce (data parallel): 1 of its 4 calls a step run as tree/Simple instead of "
                        "ring/Simple"));
  row.choices = {{"ring", "Simple", 2, 4}};
  EXPECT_THAT(rate_anomalies(report)[0].text,
              HasSubstr("runs as ring/Simple on 2 channels instead of ring/Simple on 8 channels"));
}

// Fabrics of one kind: 1 NIC of 400 Gb/s carries less than 4 of 200 Gb/s: 0.95 * 50 = 47.5 of 95 GB/s.
TEST(RateAnomalies, NameTheNicsThatAFasterFabricHasFewerOf) {
  Report report = slower_at_200();
  report.points.erase(report.points.begin());
  report.swept = {"cluster.fabric"};
  const char* names[] = {"efa-200g", "efa-400g"};
  for (std::size_t i = 0; i < 2; ++i) {
    report.points[i].settings = {{"cluster.fabric", Value::of(names[i])}};
    report.points[i].network.name = names[i];
    report.points[i].network.transport = Transport::efa;
    report.points[i].network.nics_per_node = i == 0 ? 4 : 1;
  }
  report.points[1].step_time = Seconds(20e-3);
  const auto found = rate_anomalies(report);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].text, HasSubstr("efa-400g has 1 NIC per node, efa-200g 4 NICs per node: 47.5 GB/s "
                                       "instead of 95.0 GB/s per node in all"));
  report.points[1].network.transport = Transport::infiniband;  // another kind: no anomaly, another network
  EXPECT_TRUE(rate_anomalies(report).empty());
}

TEST(RateAnomalies, AreSentencesOfTheTableAndNotRepeatedAsNotes) {
  Report report = slower_at_200();
  for (const Anomaly& anomaly : rate_anomalies(report)) {
    report.points[anomaly.point].warnings.push_back(anomaly.text);
  }
  EXPECT_THAT(sentences(report),
              testing::Contains(HasSubstr("Slower on a faster network: 200 Gb/s takes 12.0 ms")));
  EXPECT_TRUE(notes(report).empty());
}

}  // namespace
}  // namespace stepcast
