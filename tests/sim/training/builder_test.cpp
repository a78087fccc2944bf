#include "sim/training/builder.hpp"

#include <gtest/gtest.h>

#include <set>

#include "setting.hpp"

namespace stepcast {
namespace {

Work kernel(double seconds) {
  Work work;
  work.kernels.emplace_back();
  work.kernels.back().name = "kernel";
  work.kernels.back().time = Seconds(seconds);
  return work;
}

std::vector<Group> pairs(int world) {
  std::vector<Group> groups;
  for (int rank = 0; rank < world; rank += 2) groups.push_back({{rank, rank + 1}});
  return groups;
}

Setting& eight_gpus() {
  static Setting setting = [] {
    Setting made(Strategy::ddp, "pytorch-compiled");
    made.with(chain_model(1, 1024));
    return made;
  }();
  return setting;
}

// 1 + 2 ms in a row, an event, then 4 ms: tasks of 3 and 4 ms.
TEST(StepBuilder, KernelsBetweenTwoEventsAreOneTask) {
  StepBuilder builder(eight_gpus().inputs(), {});
  builder.compute(TaskRole::backward, builder.intern(kernel(1e-3)));
  builder.compute(TaskRole::copy, builder.intern(kernel(2e-3)));
  EXPECT_TRUE(builder.event().exists());
  builder.compute(TaskRole::backward, builder.intern(kernel(4e-3)));
  const Program program = builder.finish(builder.event(), 0);
  ASSERT_EQ(program.tasks.size(), 2U);
  const auto length = [&](std::size_t task) {
    return program.works[static_cast<std::size_t>(program.tasks[task].payload)].durations.front();
  };
  EXPECT_EQ(length(0), 3'000'000'000);
  EXPECT_EQ(length(1), 4'000'000'000);
  EXPECT_EQ(program.tasks[0].role, TaskRole::backward);
  EXPECT_EQ(program.works[static_cast<std::size_t>(program.tasks[0].payload)].kernels, 2);
}

TEST(StepBuilder, ForwardAndBackwardAndTheUpdateStayApart) {
  StepBuilder builder(eight_gpus().inputs(), {});
  for (const TaskRole role : {TaskRole::forward, TaskRole::backward, TaskRole::optimizer}) {
    builder.compute(role, builder.intern(kernel(1e-3)));
  }
  EXPECT_EQ(builder.finish(builder.event(), 0).tasks.size(), 3U);
}

TEST(StepBuilder, I3_ACollectiveOfOneRankIsNothingToWaitFor) {
  StepBuilder builder(eight_gpus().inputs(), {});
  std::vector<Group> alone;
  for (int rank = 0; rank < 8; ++rank) alone.push_back({{rank}});
  const int communicator = builder.add_communicator("alone", alone);
  EXPECT_FALSE(
      builder.collective(0, communicator, Operation::all_reduce, Bytes(1e9), {}, "nothing").exists());
}

// Two communicators may hold SMs at once: levels are 0, a, b, a + b.
TEST(StepBuilder, ReservedLevelsAreAllSumsOfWhatCommunicatorsHold) {
  StepBuilder builder(eight_gpus().inputs(), {});
  const int world = builder.add_communicator("world", {{{0, 1, 2, 3, 4, 5, 6, 7}}});
  const int two = builder.add_communicator("pairs", pairs(8));
  const int stream = builder.add_stream("nccl");
  builder.compute(TaskRole::forward, builder.intern(kernel(1e-3)));
  builder.collective(stream, world, Operation::all_reduce, Bytes(1e9), {}, "all");
  builder.collective(stream, two, Operation::all_gather, Bytes(1e9), {}, "pair");
  const Program program = builder.finish(builder.event(), 0);
  const int a = program.collective_costs[0].sms, b = program.collective_costs[1].sms;
  const std::set<int> sums{0, a, b, a + b};
  EXPECT_EQ(program.reserved_levels, std::vector<int>(sums.begin(), sums.end()));
  for (const WorkCost& work : program.works) EXPECT_EQ(work.durations.size(), program.reserved_levels.size());
}

// Four pairs: four communicators, four calls of two participants; folded one of each.
TEST(StepBuilder, UnfoldedGivesEachGroupItsOwnCommunicatorAndCall) {
  for (const bool unfolded : {false, true}) {
    PlanOptions options;
    options.unfolded = unfolded;
    StepBuilder builder(eight_gpus().inputs(), options);
    const int two = builder.add_communicator("pairs", pairs(8));
    const int stream = builder.add_stream("nccl");
    builder.compute(TaskRole::forward, builder.intern(kernel(1e-3)));
    const TaskId end =
        builder.collective(stream, two, Operation::all_gather, Bytes(1e9), {builder.event()}, "pair");
    const Program program = builder.finish(end, 0);
    EXPECT_EQ(program.ranks, unfolded ? 8 : 1);
    EXPECT_EQ(program.communicators.size(), unfolded ? 4U : 1U);
    EXPECT_EQ(program.collectives.size(), unfolded ? 4U : 1U);
    EXPECT_EQ(program.collectives.back().participants, unfolded ? 2 : 1);
    EXPECT_EQ(program.multiplicity.front(), unfolded ? 1 : 8);
  }
}

}  // namespace
}  // namespace stepcast
