#include "calibrate/fit/fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "sim/cost/gemm.hpp"
#include "tests/calibrate/fit/measured_set.hpp"

namespace stepcast {
namespace {

using namespace test;

/// Products of a core of 40 GFLOP/s with 5 us a call, by the model that is to be fitted; 2 % of noise.
MeasuredSet with_products(unsigned seed) {
  MeasuredSet set = two_hosts();
  const GpuProfile gpu = load_profile("cpu-host", "cpu-host", "stepcast-trainer", {}, {}).gpu;
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 0.02);
  for (const std::int64_t rows : {32, 128, 512, 2048}) {
    for (const std::int64_t features : {60, 250, 1000}) {
      const Seconds computing =
          best_tiling(gpu, GemmUnits::simt, FlopPerSecond(40e9), {static_cast<double>(rows), features, 256})
              .compute_time();
      const Seconds time = computing + microseconds(5);
      set.results.push_back(
          taken(gemm_of(rows, features, 256, false, true), (1 + normal(random)) * time, 0.02));
    }
  }
  return set;
}

TEST(FitAll, FindsRateAndLatencyOfProducts) {
  MeasuredSet set = with_products(3);
  set.results[4].median = 4 * set.results[4].median;  // somebody else had the core
  const FitSummary summary = fit_all(set);
  const FitParameter* const rate = summary.find("gemm fp32", "rate");
  ASSERT_NE(rate, nullptr);
  // 2 % of noise on twelve products, one of them lost.
  EXPECT_NEAR(rate->value, 40e9, 0.03 * 40e9);
  EXPECT_LE(rate->low, rate->value);
  EXPECT_GE(rate->high, rate->value);
  EXPECT_NEAR(summary.find("gemm fp32", "latency")->value, 5e-6, 1.5e-6);
  EXPECT_EQ(summary.fits.front().points, 12);
  EXPECT_EQ(summary.fits.front().warning, "");
}

TEST(FitAll, FindsTheCurvesOfCopiesAndCollectivesByGroup) {
  MeasuredSet set = two_hosts();
  for (const double size : {1e4, 1e5, 1e6, 1e7, 1e8})
    set.results.push_back(taken(kernel_of("copy", size), Seconds(2e-6 + size / 8e9)));
  for (const double size : {1e3, 1e5, 1e6, 1e7, 1e8}) {
    set.results.push_back(
        taken(collective_of(Operation::all_reduce, size, 2, 2), Seconds(200e-6 + size / 110e6)));
    set.results.push_back(
        taken(collective_of(Operation::all_gather, size, 2, 2), Seconds(100e-6 + size / 220e6)));
  }
  const FitSummary summary = fit_all(set);
  EXPECT_NEAR(summary.find("copy", "rate")->value, 8e9, 1e6);
  EXPECT_NEAR(summary.find("copy", "latency")->value, 2e-6, 1e-9);
  const std::string reduce = "all_reduce, 2 ranks on 2 nodes, ethernet-1g";
  EXPECT_NEAR(summary.find(reduce, "rate")->value, 110e6, 1e4);
  EXPECT_NEAR(summary.find(reduce, "half_peak_size")->value, 22e3, 10);  // 200 us * 110 MB/s
  EXPECT_NEAR(summary.find("all_gather, 2 ranks on 2 nodes, ethernet-1g", "latency")->value, 100e-6, 1e-8);
}

// A slope of 1 +- 1.5 (95 %) gives a rate of 1 between 1 / 2.5 and no bound: its error is 1.5 / 1.96.
TEST(FitParameter, ThatHasNoUpperBoundIsNotSure) {
  FitParameter rate{"rate", FitParameter::Unit::rate, 1, 1 / 2.5, std::numeric_limits<double>::infinity()};
  EXPECT_NEAR(rate.relative_error(), 1.5 / 1.96, 1e-12);
  rate.high = 1.6;
  EXPECT_NEAR(rate.relative_error(), 0.6 / 1.96, 1e-12);
}

TEST(FitAll, CopiesThatCachesHoldTellNoRateOfTheMemory) {
  MeasuredSet set = two_hosts();
  for (const double size : {1e5, 1e6, 1e7})
    set.results.push_back(taken(kernel_of("copy", size), Seconds(2e-6 + size / 28e9)));
  const FitSummary summary = fit_all(set);
  EXPECT_EQ(summary.find("copy", "rate"), nullptr);
  EXPECT_NEAR(summary.find("copy", "latency")->value, 2e-6, 1e-9);
  EXPECT_NE(summary.fits.front().warning, "");
}

// Half of the core goes to a collective of 10 ms: a product of 3 ms takes 6 beside it, one of 20 ms 25.
TEST(FitAll, OverlapIsHeldAgainstTheCpuTimeOfTheCollective) {
  MeasuredSet set = two_hosts();
  Measured collective = taken(collective_of(Operation::all_reduce, 1e6, 2, 2), Seconds(10e-3));
  collective.host = Seconds(5e-3);
  set.results.push_back(collective);
  const auto overlap = [&](double alone, double beside) {
    Measurement what = collective.what;
    what.kind = Measurement::Kind::overlap;
    Measured one = taken(what, Seconds(beside));
    one.alone = Seconds(alone);
    set.results.push_back(one);
  };
  overlap(3e-3, 6e-3);
  overlap(20e-3, 25e-3);
  const FitSummary summary = fit_all(set);
  const Fit& fit = summary.fits.back();
  EXPECT_EQ(fit.of, "overlap");
  EXPECT_NEAR(fit.find("slowdown")->value, 0.5 * (2 + 1.25), 1e-9);
  EXPECT_LT(fit.residual, 1e-9);
  EXPECT_EQ(fit.warning, "");
  set.results.back().median = Seconds(80e-3);
  set.results[1].median = Seconds(20e-3);
  EXPECT_NE(fit_all(set).fits.back().warning, "");
}

TEST(FitAll, ProductsThatSlowDownUnderLoadAreTold) {
  MeasuredSet set = two_hosts();
  set.results.push_back(taken(gemm_of(512, 512, 512, false, true), Seconds(10e-3)));
  Measured sustained = taken(gemm_of(512, 512, 512, false, true), Seconds(12e-3));
  sustained.what.kind = Measurement::Kind::sustained;
  sustained.by_rank = {Seconds(11e-3), Seconds(11e-3), Seconds(12e-3)};
  set.results.push_back(sustained);
  const Fit fit = fit_all(set).fits.back();
  EXPECT_EQ(fit.of, "sustained");
  EXPECT_NEAR(fit.find("slowdown")->value, 1.2, 1e-9);
  EXPECT_NEAR(fit.find("slowest_device_over_median")->value, 12.0 / 11, 1e-9);
  EXPECT_NE(fit.warning, "");
}

TEST(FitAll, NothingMeasuredGivesNoFits) { EXPECT_TRUE(fit_all(two_hosts()).fits.empty()); }

}  // namespace
}  // namespace stepcast
