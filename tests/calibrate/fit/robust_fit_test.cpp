#include "calibrate/fit/robust_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace stepcast {
namespace {

// t = 50 us + size / (1 GB/s), 1 KiB to 16 MiB.
constexpr double latency = 50e-6, slope = 1e-9;

std::vector<Observation> noisy(unsigned seed, double deviation, int outliers) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<Observation> points;
  for (double size = 1024; size <= 16.0 * 1024 * 1024; size *= 2)
    points.push_back({{1, size}, (latency + slope * size) * (1 + normal(random)), deviation});
  std::shuffle(points.begin(), points.end(), random);
  for (int i = 0; i < outliers; ++i) points[static_cast<std::size_t>(i)].value *= 3;
  return points;
}

TEST(FitLinear, FindsBothParametersExactlyWithoutNoise) {
  const RobustFit fit = fit_linear(noisy(1, 1e-12, 0));
  EXPECT_NEAR(fit.parameters[0], latency, 1e-9 * latency);
  EXPECT_NEAR(fit.parameters[1], slope, 1e-9 * slope);
  EXPECT_LT(fit.median_residual, 1e-9);
}

// Three of fifteen times are three times too long, as when another job passes. An ordinary fit would be off
// by 2 * 3 / 15 = 40 %; noise of 2 % on fifteen points leaves each parameter some 1 %.
TEST(FitLinear, OutliersDoNotMoveIt) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const RobustFit fit = fit_linear(noisy(seed, 0.02, 3));
    EXPECT_NEAR(fit.parameters[0], latency, 0.06 * latency) << seed;
    EXPECT_NEAR(fit.parameters[1], slope, 0.06 * slope) << seed;
  }
}

// 95 % of 400 trials are 380, with a standard deviation of 4.4; robust intervals are approximate, so the
// bounds lie at 90 and 99 %.
TEST(FitLinear, TheIntervalHoldsTheTruthInAboutNineteenOfTwentyTrials) {
  int held_latency = 0, held_slope = 0;
  constexpr int trials = 400;
  for (unsigned seed = 1; seed <= trials; ++seed) {
    const RobustFit fit = fit_linear(noisy(seed, 0.03, 0));
    held_latency += fit.low[0] <= latency && latency <= fit.high[0] ? 1 : 0;
    held_slope += fit.low[1] <= slope && slope <= fit.high[1] ? 1 : 0;
  }
  for (const int held : {held_latency, held_slope}) {
    EXPECT_GE(held, 0.90 * trials);
    EXPECT_LE(held, 0.99 * trials);
  }
}

// A point that is known to a hundredth of the others' error rules.
TEST(FitLinear, SureMeasurementsWeighMore) {
  const std::vector<Observation> points{{{1}, 10, 0.1}, {{1}, 12, 0.001}, {{1}, 10, 0.1}, {{1}, 10, 0.1}};
  EXPECT_NEAR(fit_linear(points).parameters[0], 12, 0.1);
}

// Times that fall with size would need a negative slope: it is 0, and the latency their weighted mean.
TEST(FitLinear, NoParameterIsNegative) {
  const std::vector<Observation> points{{{1, 1}, 1.2, 0.01}, {{1, 2}, 1.1, 0.01}, {{1, 3}, 1.0, 0.01}};
  const RobustFit fit = fit_linear(points);
  EXPECT_EQ(fit.parameters[1], 0);
  EXPECT_GT(fit.parameters[0], 1.0);
  EXPECT_LT(fit.parameters[0], 1.2);
}

}  // namespace
}  // namespace stepcast
