#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/engine/detail/random.hpp"
#include "tests/sim/engine/example_programs.hpp"

namespace stepcast {
namespace {

using test::ProgramBuilder;
using test::sharded_step;

struct Moments {
  double mean{}, deviation{};
};

Moments moments(const std::vector<Picoseconds>& times) {
  double sum = 0, squares = 0;
  for (const Picoseconds t : times) sum += static_cast<double>(t);
  const double n = static_cast<double>(times.size()), mean = sum / n;
  for (const Picoseconds t : times)
    squares += (static_cast<double>(t) - mean) * (static_cast<double>(t) - mean);
  return {mean, std::sqrt(squares / (n - 1))};
}

/// `tasks` compute tasks of 1e6 ps and `kernels` kernels each, one after the other, on a class of `ranks`.
Program row_of_tasks(int tasks, int kernels, int ranks) {
  ProgramBuilder make;
  const int work = make.work({1'000'000}, 0, kernels);
  for (int i = 0; i < tasks; ++i) make.compute(0, 0, work);
  make.program.multiplicity = {ranks};
  return make.program;
}

// Quantiles of the standard normal distribution: any statistical table.
TEST(Normal, QuantilesMatchTheTable) {
  EXPECT_NEAR(detail::normal_from_upper_tail(0.5), 0, 1e-8);
  EXPECT_NEAR(detail::normal_from_upper_tail(0.025), 1.959963985, 1e-8);
  EXPECT_NEAR(detail::normal_from_upper_tail(0.975), -1.959963985, 1e-8);
  EXPECT_NEAR(detail::normal_from_upper_tail(0.001), 3.090232306, 1e-8);
  EXPECT_NEAR(detail::normal_from_upper_tail(1e-9), 5.997807015, 1e-8);
}

// The median of the largest of k: P(max < m) = 1/2, so P(Z > m) = 1 - 2^(-1/k). k = 1: 0.
TEST(Normal, TheMaximumOfKHasTheDistributionOfKDraws) {
  EXPECT_NEAR(detail::normal_maximum(0.5, 1), 0, 1e-8);
  for (const int k : {2, 32, 16384}) {
    const double m = detail::normal_maximum(0.5, k);
    EXPECT_NEAR(std::pow(1 - std::erfc(m / std::sqrt(2.0)) / 2, k), 0.5, 1e-6);
  }
}

TEST(Jitter, WithoutDeviationEveryStepIsTheSteadyOne) {
  const Program program = sharded_step({.ranks = 8, .folded = true});
  const auto times = simulate_with_jitter(program, {});
  EXPECT_EQ(times.size(), 200U);
  const double steady = static_cast<double>(simulate(program).step_time);
  for (const Picoseconds time : times) EXPECT_NEAR(static_cast<double>(time), steady, 1e-9 * steady);
}

TEST(Jitter, TheSameSeedGivesTheSameTimesAndAnotherSeedOthers) {
  const Program program = sharded_step({.ranks = 8, .folded = true});
  const Jitter jitter{.compute = 0.03, .collective = 0.1, .seed = 11};
  Jitter other = jitter;
  other.seed = 12;
  const auto times = simulate_with_jitter(program, jitter);
  EXPECT_EQ(times, simulate_with_jitter(program, jitter));
  EXPECT_NE(times, simulate_with_jitter(program, other));
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

// 16 tasks of 4 kernels, 10 % a kernel: a task deviates by 10 % / 2 = 0.05e6, 16 of them by 4 * 0.05e6 =
// 0.2e6 around 16e6. 2000 draws know a deviation to 1 / sqrt(4000) = 1.6 %, the mean to 0.2e6 / 45 = 4500.
TEST(Jitter, DeviationsOfTasksAverageOut) {
  const Moments found =
      moments(simulate_with_jitter(row_of_tasks(16, 4, 1), {.compute = 0.1, .collective = 0, .steps = 2000}));
  EXPECT_NEAR(found.mean, 16e6, 4 * 4500);
  EXPECT_NEAR(found.deviation, 0.2e6, 4 * 0.016 * 0.2e6);
}

// A class of 32 ranks waits for its slowest: the largest of 32 normal draws has mean 2.0697 (tables of order
// statistics). What is the largest is the row's total, so 16 tasks are late by 2.07 * 0.2e6, not by 16 * 2.07
// * 0.05e6.
TEST(Jitter, AClassOfRanksWaitsForTheSlowestRowOfTasks) {
  const Moments found = moments(
      simulate_with_jitter(row_of_tasks(16, 4, 32), {.compute = 0.1, .collective = 0, .steps = 2000}));
  EXPECT_NEAR(found.mean, 16e6 + 2.0697 * 0.2e6, 0.02 * 0.2e6);
}

// Folded and unfolded draw from the same distribution. Eight ranks that meet after every row of 3 tasks.
TEST(Jitter, AFoldedClassAndItsRanksHaveTheSameMean) {
  const auto program = [](bool folded) {
    const int ranks = folded ? 1 : 8;
    ProgramBuilder make(ranks);
    make.program.multiplicity.assign(static_cast<std::size_t>(ranks), folded ? 8 : 1);
    const int work = make.work({1'000'000});
    const int cost = make.cost(1000, 0, {});
    std::vector<int> calls;
    for (int i = 0; i < 10; ++i) calls.push_back(make.call(cost, ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<Wait> waits;
      for (const int call : calls) {
        int t = make.compute(rank, 0, work, waits);
        for (int i = 0; i < 2; ++i) t = make.compute(rank, 0, work);
        waits = {{make.collective(rank, 1, call, {{t, 0}}), 0}};
      }
      make.compute(rank, 0, work, waits);
    }
    return make.program;
  };
  const Jitter jitter{.compute = 0.05, .collective = 0, .steps = 1000};
  const Moments folded = moments(simulate_with_jitter(program(true), jitter));
  const Moments every = moments(simulate_with_jitter(program(false), jitter));
  // 10 rows are late by 1.4236 * sqrt(3) * 0.05e6 each (mean of the largest of 8: 1.4236), 1.23e6 of 32e6 in
  // all.
  EXPECT_NEAR(folded.mean, every.mean, 0.05 * 1.23e6 + 0.1e6);
  EXPECT_NEAR(folded.mean, 31e6 + 10e3 + 1.23e6, 0.05 * 1.23e6 + 0.1e6);
}

// A collective alone, 1e6 ps of latency and 1e6 of bytes, 10 %: 0.2e6 around 2e6.
TEST(Jitter, CollectivesVaryAsAWhole) {
  ProgramBuilder make;
  make.collective(0, 1, make.call(make.cost(1'000'000, 1e6, {{make.resource(1e12), 1}})));
  const Moments found =
      moments(simulate_with_jitter(make.program, {.compute = 0, .collective = 0.1, .steps = 2000}));
  EXPECT_NEAR(found.mean, 2e6, 4 * 0.2e6 / 45);
  EXPECT_NEAR(found.deviation, 0.2e6, 4 * 0.016 * 0.2e6);
}

// 4 written out and 12 repeated vary like 16: each 1e6 +- 0.1e6, in all +- 0.4e6. The mean of the interval is
// known to 0.1e6 / 45 from 2000 steps, 12 of them to 12 times that.
TEST(Jitter, RepeatedMicroBatchesDrawIndependently) {
  Program program = row_of_tasks(4, 1, 1);
  program.micro_batch_marks = {0, 1, 2, 3};
  program.repeated_micro_batches = 12;
  const Moments found =
      moments(simulate_with_jitter(program, {.compute = 0.1, .collective = 0, .steps = 2000}));
  EXPECT_NEAR(found.mean, 16e6, 4 * 12 * 0.1e6 / 45);
  EXPECT_GT(found.deviation, 0.35e6);
  EXPECT_LT(found.deviation,
            0.5e6);  // the interval that is repeated is also part of the step: a little more than 0.4e6
}

}  // namespace
}  // namespace stepcast
