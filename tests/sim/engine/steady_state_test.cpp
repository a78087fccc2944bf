#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "base/diagnostic.hpp"
#include "tests/sim/engine/example_programs.hpp"

namespace stepcast {
namespace {

using test::ProgramBuilder;
using test::sharded_step;
constexpr double bytes_per_ps = ProgramBuilder::bytes_per_ps;

// Compute 100 on stream 0; then an exchange of 50 that only the next step's compute waits for: a cold step
// ends at 100, every later one takes 100 + 50.
Program with_work_left_over() {
  ProgramBuilder make;
  const int compute = make.compute(0, 0, make.work({100}));
  const int exchange = make.collective(
      0, 1, make.call(make.cost(0, 500, {{make.resource(10 * bytes_per_ps), 1}})), {{compute, 0}});
  make.program.waits.push_back({exchange, 1});
  make.program.tasks[compute].first_wait = 1;
  make.program.tasks[compute].wait_count = 1;
  make.program.end_task = compute;
  return make.program;
}

TEST(SteadyState, TheColdStepIsNotTheOneReported) {
  const Timeline line = simulate(with_work_left_over());
  EXPECT_TRUE(line.steady);
  EXPECT_EQ(line.steps_simulated, 3);  // two intervals must agree: the third step's end is the first that can
  EXPECT_EQ(line.begin, 250);
  EXPECT_EQ(line.end, 400);
  EXPECT_EQ(line.step_time, 150);
  // The trailing exchange of the reported step is part of it, though it ends after the step's end_task.
  EXPECT_EQ(line.intervals[1].resident, 400);
  EXPECT_EQ(line.intervals[1].end, 450);
}

TEST(SteadyState, MinimumAndMaximumStepsAreKept) {
  SimulateOptions options;
  options.minimum_steps = 5;
  EXPECT_EQ(simulate(with_work_left_over(), options).steps_simulated, 5);
  options.maximum_steps = 2;
  const Timeline cut = simulate(with_work_left_over(), options);
  EXPECT_EQ(cut.steps_simulated, 2);
  EXPECT_FALSE(cut.steady);
}

// A wait five steps back: steps 0-4 run at the pace of stream 0 (10); from step 5 on the slow stream 1 (1000
// a task) holds them: intervals 10, 10, ... would "agree" at once, and do: what is reported is what two
// successive steps show.
TEST(SteadyState, MoreStepsAreTakenWhereTheyAreAskedFor) {
  ProgramBuilder make;
  const int slow = 1;
  make.compute(0, 0, make.work({10}), {{slow, 5}});
  make.compute(0, 1, make.work({1000}));
  make.program.end_task = 0;
  EXPECT_EQ(simulate(make.program).step_time, 10);
  SimulateOptions options;
  options.minimum_steps = 9;
  const Timeline line = simulate(make.program, options);
  EXPECT_EQ(line.step_time, 1000);
  EXPECT_TRUE(line.steady);
}

TEST(SteadyState, EveryTaskRunsExactlyOnceInTheReportedStep) {
  const Program program = sharded_step({.ranks = 4, .micro_batches = 2});
  const Timeline line = simulate(program);
  ASSERT_EQ(line.intervals.size(), program.tasks.size());
  for (std::size_t i = 0; i < line.intervals.size(); ++i) {
    const Interval& at = line.intervals[i];
    EXPECT_EQ(at.task, static_cast<int>(i));
    EXPECT_LE(at.issued, at.eligible);
    EXPECT_LE(at.eligible, at.resident);
    EXPECT_LE(at.resident, at.moving);
    EXPECT_LT(at.moving, at.end);
  }
  EXPECT_EQ(line.intervals[program.end_task].end, line.end);
}

// I48, to the last picosecond (not by memcmp: an Interval has padding).
TEST(SteadyState, TheSameProgramGivesTheSameBytes) {
  const Program program = sharded_step({.ranks = 8, .micro_batches = 2});
  const Timeline one = simulate(program), two = simulate(program);
  EXPECT_TRUE(std::equal(one.intervals.begin(), one.intervals.end(), two.intervals.begin(),
                         two.intervals.end(), [](const Interval& a, const Interval& b) {
                           return a.task == b.task && a.issued == b.issued && a.eligible == b.eligible &&
                                  a.resident == b.resident && a.moving == b.moving && a.end == b.end;
                         }));
  EXPECT_EQ(one.events, two.events);
  EXPECT_EQ(one.step_time, two.step_time);
}

// I48: without noise all ranks of a symmetric job have the same times.
TEST(SteadyState, RanksOfASymmetricJobAreAlike) {
  const Program program = sharded_step({.ranks = 8});
  const Timeline line = simulate(program);
  const std::size_t of_rank = program.tasks.size() / 8;
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    EXPECT_EQ(line.intervals[i].resident, line.intervals[i % of_rank].resident);
    EXPECT_EQ(line.intervals[i].end, line.intervals[i % of_rank].end);
  }
}

// Four micro-batches written out and six repeated are ten. A cold pipeline fills before the first mark
// intervals agree.
TEST(MicroBatches, ExtrapolationEqualsTheFullRun) {
  Program planned = sharded_step({.ranks = 8, .micro_batches = 4, .folded = true});
  planned.repeated_micro_batches = 6;
  const Timeline extrapolated = simulate(planned);
  const Timeline full = simulate(sharded_step({.ranks = 8, .micro_batches = 10, .folded = true}));
  EXPECT_TRUE(extrapolated.micro_batches_agree);
  EXPECT_NEAR(static_cast<double>(extrapolated.step_time), static_cast<double>(full.step_time),
              1e-9 * static_cast<double>(full.step_time) + 12);  // 6 intervals, each rounded to 2 ps
  EXPECT_EQ(extrapolated.step_time,
            extrapolated.end - extrapolated.begin + 6 * extrapolated.micro_batch_interval);
}

// Marks start at 0, 100, 300: intervals 100 and 200 do not agree, and the last one counts.
TEST(MicroBatches, UnequalIntervalsAreSaidNotToAgree) {
  ProgramBuilder make;
  for (const Picoseconds time : {100, 200, 50}) {
    make.program.micro_batch_marks.push_back(make.compute(0, 0, make.work({time})));
  }
  make.program.repeated_micro_batches = 2;
  const Timeline line = simulate(make.program);
  EXPECT_FALSE(line.micro_batches_agree);
  EXPECT_EQ(line.micro_batch_interval, 200);
  EXPECT_EQ(line.step_time, 350 + 2 * 200);
}

TEST(MicroBatches, TwoMarksGiveAnIntervalButNoAgreement) {
  ProgramBuilder make;
  for (int i = 0; i < 2; ++i) make.program.micro_batch_marks.push_back(make.compute(0, 0, make.work({100})));
  make.program.repeated_micro_batches = 1;
  const Timeline line = simulate(make.program);
  EXPECT_FALSE(line.micro_batches_agree);
  EXPECT_EQ(line.step_time, 300);
}

TEST(Progress, RisesToOne) {
  std::vector<double> shares;
  SimulateOptions options;
  options.progress = [&](double share) { shares.push_back(share); };
  (void)simulate(sharded_step({.ranks = 8, .micro_batches = 2}), options);
  ASSERT_GE(shares.size(), 3U);
  for (std::size_t i = 1; i < shares.size(); ++i) EXPECT_GE(shares[i], shares[i - 1]);
  EXPECT_GT(shares.front(), 0);
  EXPECT_EQ(shares.back(), 1);
}

TEST(Progress, CancellingStopsBetweenEvents) {
  std::atomic<bool> cancel{false};
  SimulateOptions options;
  options.cancel = &cancel;
  options.progress = [&](double) { cancel = true; };
  EXPECT_THROW((void)simulate(sharded_step({.ranks = 8}), options), Interrupted);
  EXPECT_THROW((void)simulate(with_work_left_over(), options), Interrupted) << "already cancelled";
}

}  // namespace
}  // namespace stepcast
