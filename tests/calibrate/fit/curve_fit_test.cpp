#include "calibrate/fit/curve_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace stepcast {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Sizes from 1 KiB to 64 MiB, with 2 % of noise.
template <class Time>
std::vector<TimedSize> points_of(Time time, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 0.02);
  std::vector<TimedSize> points;
  for (double size = 1024; size <= 64.0 * 1024 * 1024; size *= 2)
    points.push_back({Bytes(size), Seconds(time(size) * (1 + normal(random))), 0.02});
  return points;
}

std::string warning_of(const std::vector<TimedSize>& points) {
  std::vector<double> errors;
  for (const TimedSize& point : points) errors.push_back(point.relative_error);
  return misfit(fit_curve(points).residuals, errors);
}

// 100 us and 100 MB/s: half of the rate is reached where latency and transfer take equally long, at 10 kB.
TEST(CurveFit, FindsLatencyRateAndTheSizeOfHalfThePeak) {
  const auto points = points_of([](double size) { return 100e-6 + size / 100e6; });
  const CurveFit curve = fit_curve(points);
  EXPECT_NEAR(curve.latency.value, 100e-6, 5e-6);
  EXPECT_NEAR(curve.rate.value, 100e6, 2e6);
  EXPECT_NEAR(curve.half_peak.value, 10e3, 0.6e3);
  EXPECT_LE(curve.rate_low, curve.rate);
  EXPECT_GE(curve.rate_high, curve.rate);
  EXPECT_EQ(curve.ramp, 0);
  EXPECT_THAT(warning_of(points), IsEmpty());
}

// 10 GB/s reached only slowly: at 1 MiB the square-root term takes 3e-7 * 1024 = 0.31 ms, three times the
// transfer.
TEST(CurveFit, TakesARampWhereRatesRiseMoreSlowlyThanALatencyMakesThem) {
  const auto points = points_of([](double size) { return 20e-6 + size / 10e9 + 3e-7 * std::sqrt(size); });
  const CurveFit curve = fit_curve(points);
  EXPECT_GT(curve.ramp, 0);
  EXPECT_EQ(curve.exponent, 0.5);
  EXPECT_NEAR(curve.rate.value, 10e9, 1.5e9);
  // By its definition: there the curve takes twice the time of the transfer.
  EXPECT_NEAR(curve.at(curve.half_peak).value, 2 * (curve.half_peak / curve.rate).value,
              1e-6 * curve.at(curve.half_peak).value);
  EXPECT_THAT(warning_of(points), IsEmpty());
}

// A cache: up to 1 MiB ten times as fast as beyond. No latency and rate describe both.
TEST(CurveFit, WarnsWhereTheMeasurementsHaveAnotherShape) {
  const auto points =
      points_of([](double size) { return 1e-6 + (size <= 1024.0 * 1024 ? size / 50e9 : size / 5e9); });
  EXPECT_THAT(warning_of(points), testing::Not(IsEmpty()));
}

TEST(Misfit, TellsAMedianErrorFromARunOnOneSide) {
  const std::vector<double> errors(8, 0.01);
  EXPECT_THAT(misfit({0.2, -0.2, 0.2, -0.2, 0.2, -0.2, 0.2, -0.2}, errors),
              HasSubstr("half of the measurements"));
  EXPECT_THAT(misfit({0, 0.01, 0, 0.08, 0.08, 0.08, 0.08, 0}, errors), HasSubstr("neighbouring"));
  EXPECT_THAT(misfit({0, 0.01, 0, 0.08, -0.08, 0.08, 0.08, 0}, errors), IsEmpty());
  // What lies within the measurements' own errors is no fault of the curve.
  EXPECT_THAT(misfit({0, 0.01, 0, 0.08, 0.08, 0.08, 0.08, 0}, std::vector<double>(8, 0.05)), IsEmpty());
}

}  // namespace
}  // namespace stepcast
