#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.hpp"
#include "calibrate/measure/plan_report.hpp"
#include "calibrate/measure/result_report.hpp"
#include "fake_machine.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;
using Kind = Measurement::Kind;

Measured measured(Measurement what, double median) {
  Measured result;
  result.what = std::move(what);
  result.median = result.low = result.high = Seconds(median);
  result.repeats = 5;
  return result;
}

Measurement product(std::int64_t side, Kind kind = Kind::gemm) {
  Measurement what;
  what.kind = kind;
  what.rows = what.columns = what.depth = side;
  return what;
}

Measurement all_reduce(double bytes) {
  Measurement what;
  what.kind = Kind::collective;
  what.bytes = Bytes(bytes);
  what.ranks = {0, 1};
  what.group = "all";
  what.nodes = 2;
  return what;
}

MeasuredSet set_of(std::vector<Measured> results) {
  MeasuredSet set;
  set.device.profile_name = "cpu-host";
  set.device.model = "Some CPU";
  set.nodes = set.ranks = 2;
  set.results = std::move(results);
  return set;
}

// 2 x 100^3 FLOPs in 1 ms are 2 GFLOP/s, in 4 ms 0.5.
TEST(ResultReport, NamesTheFastestProduct) {
  const ResultReport report =
      result_report(set_of({measured(product(100), 4e-3), measured(product(100), 1e-3)}), 0);
  ASSERT_EQ(report.products.size(), 1U);
  EXPECT_DOUBLE_EQ(report.products[0].rate.value, 2e9);
}

// Of two ranks bus bandwidth is size / time: 1 MB in 2 ms and 10 MB in 10 ms, 0.5 and 1 GB/s. The smallest
// size tells the latency.
TEST(ResultReport, GivesACollectivesLatencyAndItsBestBusBandwidth) {
  const ResultReport report =
      result_report(set_of({measured(all_reduce(1e6), 2e-3), measured(all_reduce(1e3), 1e-4),
                            measured(all_reduce(1e7), 1e-2)}),
                    0);
  ASSERT_EQ(report.collectives.size(), 1U);
  EXPECT_DOUBLE_EQ(report.collectives[0].latency.value, 1e-4);
  EXPECT_DOUBLE_EQ(report.collectives[0].bus_bandwidth.value, 1e9);
  EXPECT_DOUBLE_EQ(report.collectives[0].best_size.value, 1e7);
}

TEST(ResultReport, WarnsOfSlowRanksHeatUncertaintyAndMissingTime) {
  Measured sustained = measured(product(512, Kind::sustained), 1.2e-3);
  sustained.by_rank = {Seconds(1e-3), Seconds(1.2e-3)};
  Measured wide = measured(all_reduce(1024), 1e-4);
  wide.high = Seconds(2e-4);  // half of the interval is half of the median
  const ResultReport report = result_report(set_of({measured(product(512), 1e-3), sustained, wide}), 7);
  EXPECT_NEAR(*report.rank_spread, 0.2, 1e-12);
  EXPECT_NEAR(*report.sustained_slowdown, 0.2, 1e-12);
  ASSERT_EQ(report.warnings.size(), 4U);
  EXPECT_THAT(report.warnings[0], HasSubstr("no time was left for 7 measurements"));
  EXPECT_THAT(report.warnings[1], HasSubstr("1 of 3 medians are known no better than to 10.0 %; the worst, "
                                            "all_reduce 1.00 KiB, all, to 50.0 %"));
  EXPECT_THAT(report.warnings[2], HasSubstr("slowest rank takes 20.0 % longer"));
  EXPECT_THAT(report.warnings[3], HasSubstr("under lasting load products take 20.0 % longer"));
}

TEST(ResultReport, WarnsOfNothingWhereAllIsWell) {
  EXPECT_TRUE(result_report(set_of({measured(product(100), 1e-3)}), 0).warnings.empty());
}

TEST(ResultReport, IsATableAndADocument) {
  const MeasuredSet set = set_of({measured(product(100), 1e-3), measured(all_reduce(1e6), 2e-3)});
  const ResultReport report = result_report(set, 0);
  const ResultContext context{"host", "mine.toml", Seconds(12)};
  EXPECT_THAT(to_table(report, set, context), HasSubstr("stepcast run SCENARIO.toml --profile mine.toml"));
  const Value json = parse_json(to_json(report, set, context), "json");
  EXPECT_EQ(json.find("schema")->string, "stepcast.calibration/1");
  EXPECT_EQ(json.find("gemm")->array[0].find("rate_FLOPps")->real, 2e9);
  EXPECT_EQ(json.find("memory_rate_Bps")->kind, Value::Kind::null);
  EXPECT_EQ(json.find("collectives")->array[0].find("bus_bandwidth_Bps")->real, 5e8);
}

TEST(PlanReport, AddsUpTimeMemoryAndDeviceMinutes) {
  DeviceFacts host;
  host.profile_name = "cpu-host";
  host.memory_capacity = gibibytes(4);
  MeasuringOptions options;
  options.budget = Seconds(30);
  std::vector<PlannedMeasurement> plan(2);
  plan[0].what = product(64);
  plan[1].what = all_reduce(1024);
  plan[0].expected = Seconds(20);
  plan[1].expected = Seconds(25);
  const PlanReport report = plan_report("host", host, spread_ranks(0, 2), options, plan);
  EXPECT_EQ(report.expected(), Seconds(45));
  // 32 MiB to rotate through for inputs and as much for results, and 1 KiB to send.
  EXPECT_EQ(report.memory_per_rank, mebibytes(64) + kibibytes(1));
  // No more than the budget of 30 s, on two ranks.
  EXPECT_THAT(to_table(report), HasSubstr("core-minutes: 1\n"));
  const Value json = parse_json(to_json(report), "json");
  EXPECT_EQ(json.find("device_minutes")->real, 1);
  EXPECT_EQ(json.find("measurements")->array.size(), 2U);
  EXPECT_EQ(json.find("kinds")->array[1].find("name")->string, "all_reduce (all)");
}

// Of 30 s a product of 20 (fewest repeats: 13.3) leaves 16.7, and a collective of 30 (20) finds no place.
TEST(PlanReport, SaysHowManyTheBudgetLeavesOut) {
  DeviceFacts host;
  host.profile_name = "cpu-host";
  host.memory_capacity = gibibytes(4);
  MeasuringOptions options;
  options.budget = Seconds(30);
  std::vector<PlannedMeasurement> plan(2);
  plan[0].what = product(64);
  plan[1].what = all_reduce(1024);
  plan[0].expected = Seconds(20);
  plan[1].expected = Seconds(30);
  PlanReport report = plan_report("host", host, spread_ranks(0, 2), options, plan);
  EXPECT_EQ(report.without_time, 1);
  report.too_long = 4;
  EXPECT_THAT(to_table(report), HasSubstr("leaves out about 5 measurements: 4 take too much of it"));
  const Value json = parse_json(to_json(report), "json");
  EXPECT_EQ(json.find("too_long")->integer, 4);
  EXPECT_EQ(json.find("without_time")->integer, 1);
}

// 32 MiB lie in a cache, 64 MiB in 8 ms are 8.39 GB/s.
TEST(ResultReport, TellsTheMemorysRateByLargeCopiesOnly) {
  Measurement copy;
  copy.kind = Kind::kernel;
  copy.operation = "copy";
  copy.moved = mebibytes(32);
  EXPECT_FALSE(result_report(set_of({measured(copy, 1e-3)}), 0).memory_rate);
  Measurement large = copy;
  large.moved = mebibytes(64);
  const ResultReport report = result_report(set_of({measured(copy, 1e-3), measured(large, 8e-3)}), 0);
  EXPECT_DOUBLE_EQ(report.memory_rate->value, 64.0 * 1024 * 1024 / 8e-3);
}

}  // namespace
}  // namespace stepcast
