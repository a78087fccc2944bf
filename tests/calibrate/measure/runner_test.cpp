#include "calibrate/measure/runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fake_machine.hpp"

namespace stepcast {
namespace {

PlannedMeasurement a_gemm(std::int64_t rows = 64) {
  PlannedMeasurement planned;
  planned.what.kind = Measurement::Kind::gemm;
  planned.what.rows = rows;
  planned.what.columns = planned.what.depth = 64;
  planned.what.transpose_b = true;
  planned.one_call = Seconds(1e-3);
  planned.expected = Seconds(0.02);
  return planned;
}

PlannedMeasurement an_all_reduce(double bytes, int ranks) {
  PlannedMeasurement planned;
  planned.what.kind = Measurement::Kind::collective;
  planned.what.bytes = Bytes(bytes);
  for (int rank = 0; rank < ranks; ++rank) planned.what.ranks.push_back(rank);
  planned.what.group = "all";
  planned.what.nodes = ranks;
  planned.one_call = Seconds(1e-3);
  planned.expected = Seconds(0.02);
  return planned;
}

RunnerOptions options_for(FakeBackend& backend, double budget = 100) {
  RunnerOptions options;
  options.measuring.quick = true;  // batches of 3 ms, 5 %, at most 15 samples
  options.measuring.budget = Seconds(budget);
  options.clock = [&backend] { return backend.clock.now; };
  return options;
}

/// One process.
CalibrationRun run_alone(const std::vector<PlannedMeasurement>& plan, FakeBackend& backend,
                         const RunnerOptions& options) {
  FakeHall hall(1);
  FakeMeeting meeting(hall, spread_ranks(0, 1));
  return run_plan(plan, backend, meeting, options);
}

TEST(Runner, StopsAfterTheFewestSamplesWhereNothingVaries) {
  FakeBackend backend;
  const CalibrationRun run = run_alone({a_gemm()}, backend, options_for(backend));
  ASSERT_EQ(run.results.size(), 1U);
  EXPECT_EQ(run.results[0].repeats, 5);
  EXPECT_DOUBLE_EQ(run.results[0].median.value, 1e-3);
  EXPECT_EQ(run.results[0].spread, 0);
  // Warm-up: 1 call, then a batch of 3 ms / 1 ms; five samples of as many.
  EXPECT_EQ(backend.device().kernels, 1 + 3 + 5 * 3);
}

// Every fourth batch of three calls is hit by something that takes as long as ten calls.
TEST(Runner, GivesTheMedianInSpiteOfOutliers) {
  FakeBackend backend;
  backend.device().script = [](int n) { return n % 12 == 5 ? 11e-3 : 1e-3; };
  const CalibrationRun run = run_alone({a_gemm()}, backend, options_for(backend));
  EXPECT_DOUBLE_EQ(run.results[0].median.value, 1e-3);
  // Whole range of the first five: not tight, so more were taken.
  EXPECT_GT(run.results[0].repeats, 5);
  EXPECT_DOUBLE_EQ(run.results[0].low.value, 1e-3);
}

TEST(Runner, TakesAtMostAsManySamplesAsTheRuleSaysWhereTheIntervalStaysWide) {
  FakeBackend backend;
  backend.device().script = [](int n) { return 1e-3 * (1 + (n / 3) % 2); };
  const CalibrationRun run = run_alone({a_gemm()}, backend, options_for(backend));
  EXPECT_EQ(run.results[0].repeats, 15);
}

// 0.1 s for two equal measurements of about 6 ms a batch, which never agree: the first has 50 ms, so it stops
// after five samples, which take it to 50 ms or beyond, or ten.
TEST(Runner, EndsAMeasurementWhenItsShareOfTheBudgetIsSpent) {
  FakeBackend backend;
  backend.device().script = [](int n) { return 2e-3 * (1 + (n / 2) % 3); };
  const CalibrationRun run = run_alone({a_gemm(), a_gemm(128)}, backend, options_for(backend, 0.1));
  ASSERT_EQ(run.results.size(), 2U);
  EXPECT_LT(run.results[0].repeats, 15);
  EXPECT_GE(run.results[0].repeats, 5);
}

TEST(Runner, LeavesOutWhatTheBudgetNoLongerAllowsAndSaysSo) {
  FakeBackend backend;
  backend.device().script = [](int) { return 0.01; };
  // The first takes 60 ms or more of 50; the second then has no time left.
  const CalibrationRun run = run_alone({a_gemm(), a_gemm(128)}, backend, options_for(backend, 0.05));
  ASSERT_EQ(run.results.size(), 1U);
  ASSERT_EQ(run.left_out.size(), 1U);
  EXPECT_EQ(run.left_out[0].rows, 128);
  EXPECT_FALSE(run.stopped);
}

TEST(Runner, WorksOnOtherOperandsFromCallToCall) {
  FakeBackend backend;
  (void)run_alone({a_gemm()}, backend, options_for(backend));
  const std::vector<void*>& operands = backend.device().operands;
  const std::set<void*> different(operands.begin(), operands.end());
  // 64 x 64 floats fit into the workbench more often than there were calls.
  EXPECT_EQ(different.size(), operands.size());
}

TEST(Runner, FinishesTheMeasurementInHandWhenAskedToStop) {
  FakeBackend backend;
  RunnerOptions options = options_for(backend);
  int kept = 0;
  options.keep = [&](const Measured&) { ++kept; };
  options.stop = [] { return true; };
  const CalibrationRun run = run_alone({a_gemm(), a_gemm(128)}, backend, options);
  EXPECT_TRUE(run.stopped);
  EXPECT_EQ(run.results.size(), 1U);
  EXPECT_EQ(kept, 1);
}

TEST(Runner, MeasuresACollectiveWithItsCpuTimeAndHowItRan) {
  FakeBackend backend;
  const CalibrationRun run = run_alone({an_all_reduce(1e6, 1)}, backend, options_for(backend));
  ASSERT_EQ(run.results.size(), 1U);
  EXPECT_NEAR(run.results[0].median.value, 1e-4 + 1e-3, 1e-9);
  EXPECT_NEAR(run.results[0].host.value, (1e-4 + 1e-3) / 4, 1e-9);
  EXPECT_EQ(run.results[0].facts.algorithm, "ring");
}

TEST(Runner, MeasuresAGemmAloneAndBesideACollectiveThatOutlastsIt) {
  FakeBackend backend;
  PlannedMeasurement overlap = an_all_reduce(1e6, 1);
  overlap.what.kind = Measurement::Kind::overlap;
  overlap.what.rows = overlap.what.columns = overlap.what.depth = 64;
  const CalibrationRun run = run_alone({overlap}, backend, options_for(backend));
  EXPECT_DOUBLE_EQ(run.results[0].alone.value, 1e-3);
  EXPECT_DOUBLE_EQ(run.results[0].median.value, 1e-3);
}

// Product after product for the whole second that quick runs take on hosts; the first half is warm-up.
TEST(Runner, RunsASustainedProductForItsTimeAndCountsTheSecondHalf) {
  FakeBackend backend;
  backend.device().script = [&](int) { return backend.clock.now < Seconds(0.4) ? 1e-3 : 2e-3; };
  PlannedMeasurement sustained = a_gemm();
  sustained.what.kind = Measurement::Kind::sustained;
  const CalibrationRun run = run_alone({sustained}, backend, options_for(backend));
  EXPECT_GE(backend.clock.now.value, 1);
  EXPECT_DOUBLE_EQ(run.results[0].median.value, 2e-3);
  EXPECT_DOUBLE_EQ(run.results[0].high.value, 2e-3);
}

/// What each of several ranks that run at the same time got.
struct RankOutcome {
  CalibrationRun run;
  std::string error;
  std::vector<std::string> done;
};

std::vector<RankOutcome> run_ranks(const std::vector<PlannedMeasurement>& plan, int ranks,
                                   const std::function<void(int, FakeBackend&)>& prepare) {
  FakeHall hall(ranks);
  std::vector<RankOutcome> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RankOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      FakeBackend backend(rank);
      prepare(rank, backend);
      FakeMeeting meeting(hall, spread_ranks(rank, ranks));
      const RunnerOptions options = options_for(backend);
      try {
        // Only rank 0's plan counts.
        outcome.run =
            run_plan(rank == 0 ? plan : std::vector<PlannedMeasurement>{}, backend, meeting, options);
      } catch (const MachineError& error) {
        outcome.error = error.what();
      }
      outcome.done = meeting.done;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

TEST(RunnerOnSeveralRanks, CountsTheSlowestRankAndKeepsEachRanksMedian) {
  const auto outcomes = run_ranks({a_gemm(), an_all_reduce(1e6, 3)}, 3, [](int rank, FakeBackend& backend) {
    backend.device().script = [rank](int) { return 1e-3 * (1 + 0.1 * rank); };
  });
  const CalibrationRun& run = outcomes[0].run;
  ASSERT_EQ(run.results.size(), 2U);
  EXPECT_NEAR(run.results[0].median.value, 1.2e-3, 1e-12);
  ASSERT_EQ(run.results[0].by_rank.size(), 3U);
  EXPECT_NEAR(run.results[0].by_rank[1].value, 1.1e-3, 1e-12);
  EXPECT_TRUE(outcomes[1].run.results.empty());
}

TEST(RunnerOnSeveralRanks, LeavesRanksOutThatAreNotInTheGroup) {
  PlannedMeasurement pair = an_all_reduce(1e6, 2);
  pair.what.group = "across";
  const auto outcomes = run_ranks({pair}, 3, [](int, FakeBackend&) {});
  const Measured& measured = outcomes[0].run.results.at(0);
  EXPECT_GT(measured.by_rank[1].value, 0);
  EXPECT_EQ(measured.by_rank[2].value, 0);
}

TEST(RunnerOnSeveralRanks, SaysWhatEachRankIsDoing) {
  const auto outcomes = run_ranks({a_gemm()}, 2, [](int, FakeBackend&) {});
  EXPECT_THAT(outcomes[1].done, testing::Contains("gemm 64 x 64 x 64 fp32 (forward)"));
  EXPECT_EQ(outcomes[1].done.back(), "");
}

TEST(RunnerOnSeveralRanks, EndsOnAllRanksWithTheReasonWhenOneFails) {
  const auto outcomes = run_ranks({a_gemm(), a_gemm(128)}, 2, [](int rank, FakeBackend& backend) {
    if (rank == 1) {
      backend.device().script = [](int n) -> double {
        if (n > 30) throw MachineError("the device fell off the bus");
        return 1e-3;
      };
    }
  });
  EXPECT_EQ(outcomes[0].error, "the device fell off the bus");
  EXPECT_EQ(outcomes[1].error, "the device fell off the bus");
}

}  // namespace
}  // namespace stepcast
