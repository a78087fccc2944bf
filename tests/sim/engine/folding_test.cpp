#include <gtest/gtest.h>

#include "tests/sim/engine/example_programs.hpp"

namespace stepcast {
namespace {

using test::sharded_step;
using test::ShardedStep;

class Folding : public testing::TestWithParam<ShardedStep> {};

TEST_P(Folding, GivesTheStepTimeOfEveryRankSimulated) {
  ShardedStep ask = GetParam();
  ask.folded = false;
  const Timeline every = simulate(sharded_step(ask));
  ask.folded = true;
  const Timeline folded = simulate(sharded_step(ask));
  EXPECT_TRUE(every.steady);
  EXPECT_TRUE(folded.steady);
  const auto expected = static_cast<double>(every.step_time);
  EXPECT_NEAR(static_cast<double>(folded.step_time), expected, 1e-9 * expected);
  for (std::size_t i = 0; i < folded.intervals.size(); ++i) {
    const Interval &one = folded.intervals[i], &same = every.intervals[i];
    EXPECT_NEAR(static_cast<double>(one.end - folded.begin), static_cast<double>(same.end - every.begin),
                1e-9 * expected);
  }
}

// Bound by compute, by launches, and with several micro-batches; two, eight and thirty-two ranks.
INSTANTIATE_TEST_SUITE_P(Engine, Folding,
                         testing::Values(ShardedStep{.ranks = 2}, ShardedStep{.ranks = 8, .micro_batches = 3},
                                         ShardedStep{.ranks = 32},
                                         ShardedStep{.ranks = 8, .host_time = 200'000'000}));

// One rank at 150 % holds everybody: no step is shorter than its compute, and the others' gathers wait for
// it, resident.
TEST(Straggler, HoldsEveryRankAtItsPace) {
  ShardedStep ask{.ranks = 4, .slow_rank_percent = {100, 100, 150, 100}};
  const Program program = sharded_step(ask);
  const Timeline line = simulate(program);
  const Timeline even = simulate(sharded_step({.ranks = 4}));
  EXPECT_GT(line.step_time, even.step_time * 13 / 10);
  const std::size_t of_rank = program.tasks.size() / 4;
  Picoseconds waited_fast = 0, waited_slow = 0;
  for (std::size_t i = 0; i < of_rank; ++i) {
    if (program.tasks[i].kind != TaskKind::collective) continue;
    waited_fast += line.intervals[i].moving - line.intervals[i].resident;
    waited_slow += line.intervals[i + 2 * of_rank].moving - line.intervals[i + 2 * of_rank].resident;
  }
  EXPECT_GT(waited_fast, 0);
  EXPECT_LT(waited_slow, waited_fast);
}

}  // namespace
}  // namespace stepcast
