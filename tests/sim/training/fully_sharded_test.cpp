#include "sim/training/fully_sharded.hpp"

#include <gtest/gtest.h>

#include "setting.hpp"

namespace stepcast {
namespace {

Model model() { return chain_model(8, 1024); }
constexpr double block = 2 * 1024.0 * 1024.0;
constexpr double root = 2 * 1024.0 * 1024.0;
constexpr double psi = 8 * block + root;

// Blocks are gathered twice, the root once, everything is reduce-scattered once; 2 bytes each.
TEST(Fsdp, I16_GathersTwiceAndReducesOnceWithTheRootOnce) {
  Setting setting(Strategy::fsdp, "pytorch-compiled");
  const Program program = setting.with(model()).plan().program;
  EXPECT_DOUBLE_EQ(traffic(program, "all_gather").bytes, 2 * (2 * psi - root));
  EXPECT_DOUBLE_EQ(traffic(program, "reduce_scatter").bytes, 2 * psi);
  EXPECT_EQ(traffic(program, "all_gather").calls, 1 + 2 * 8);
}

// All-gather and reduce-scatter move (n-1)/n of their size, an all-reduce twice that: 3 Psi to 2 Psi, root
// aside.
TEST(Fsdp, I16_MovesOneAndAHalfTimesTheBytesOfDdpAtEqualElementSize) {
  Setting sharded(Strategy::fsdp, "pytorch-compiled"), replicated(Strategy::ddp, "pytorch-compiled");
  replicated.scenario.training.reduce_dtype = Dtype::bf16;
  const Program fsdp = sharded.with(model()).plan().program;
  const double gathered_again = 2 * root;  // what the root would add if it were gathered twice
  const double moved =
      traffic(fsdp, "all_gather").bytes + gathered_again + traffic(fsdp, "reduce_scatter").bytes;
  const double ddp = 2 * traffic(replicated.with(model()).plan().program, "all_reduce").bytes;
  EXPECT_DOUBLE_EQ(moved / ddp, 1.5);
}

TEST(Fsdp, I16_WithoutReshardingNothingIsGatheredInBackward) {
  Setting setting(Strategy::fsdp, "pytorch-compiled");
  setting.scenario.training.reshard_after_forward = false;
  EXPECT_DOUBLE_EQ(traffic(setting.with(model()).plan().program, "all_gather").bytes, 2 * psi);
}

// 3 micro-batches: gathers in each, one reduce-scatter.
TEST(Fsdp, I17_NoSyncSavesOnlyTheReduceScatter) {
  Setting setting(Strategy::fsdp, "pytorch-compiled");
  setting.scenario.training.gradient_accumulation_steps = 3;
  setting.scenario.training.gradient_sync = GradientSync::last;
  const StepPlan plan = setting.with(model()).plan();
  EXPECT_DOUBLE_EQ(traffic(plan.program, "all_gather").bytes, 3 * 2 * (2 * psi - root));
  EXPECT_DOUBLE_EQ(traffic(plan.program, "reduce_scatter").bytes, 2 * psi);
  // ... and keeps the whole gradient in the reduce type beside the fp32 shard.
  EXPECT_DOUBLE_EQ(plan.memory.gradients.value, 2 * psi + 4 * psi / 8);
}

TEST(Hsdp, I18_ReducesTheShardAcrossReplicasAndGathersInsideAsFsdp) {
  Setting setting(Strategy::hsdp, "pytorch-compiled", 2);
  const Program program = setting.with(model()).plan().program;
  EXPECT_DOUBLE_EQ(traffic(program, "all_gather", "shard").bytes, 2 * (2 * psi - root));
  EXPECT_DOUBLE_EQ(traffic(program, "reduce_scatter", "shard").bytes, 2 * psi);
  EXPECT_DOUBLE_EQ(traffic(program, "all_reduce", "replicate").bytes, 2 * psi / 8);
  EXPECT_EQ(program.communicators.size(), 2U);
}

TEST(Hsdp, I18_WithOneReplicaIsFsdp) {
  Setting hsdp(Strategy::hsdp, "pytorch-compiled"), fsdp(Strategy::fsdp, "pytorch-compiled");
  const Program a = hsdp.with(model()).plan().program, b = fsdp.with(model()).plan().program;
  EXPECT_EQ(a.communicators.size(), 1U);
  EXPECT_EQ(a.tasks.size(), b.tasks.size());
  EXPECT_EQ(simulate(a).step_time, simulate(b).step_time);
}

TEST(Hsdp, I18_WithShardsOfOneHasTheVolumeOfDdp) {
  Setting setting(Strategy::hsdp, "pytorch-compiled");
  setting.scenario.training.shard_degree = 1;
  const Program program = setting.with(model()).plan().program;
  EXPECT_EQ(traffic(program, "all_gather").calls, 0);
  EXPECT_EQ(traffic(program, "reduce_scatter").calls, 0);
  EXPECT_DOUBLE_EQ(traffic(program, "all_reduce").bytes, 2 * psi);
}

TEST(Fsdp, I3_OneRankPaysOnlyItsCopies) {
  Setting setting(Strategy::fsdp, "pytorch-compiled", 1, 1);
  const Program program = setting.with(model()).plan().program;
  EXPECT_TRUE(program.collectives.empty());
  EXPECT_NO_THROW((void)task_named(program, "local copy"));
}

/// Slow enough a network that every limit binds.
Timeline on_slow_network(Setting& setting, Program& program) {
  setting.scenario.cluster.fabric_spec = load_fabric("ethernet-10g", test_place());
  program = setting.with(chain_model(8, 4096)).plan().program;
  return simulate(program);
}

Interval at(const Timeline& timeline, int task) { return timeline.intervals[static_cast<std::size_t>(task)]; }

// The second task of the name belongs to backward.
TEST(Fsdp, I23_ForwardGathersTwoAheadAndBackwardOneAhead) {
  Setting setting(Strategy::fsdp, "pytorch-compiled", 2);
  Program program;
  const Timeline timeline = on_slow_network(setting, program);
  const auto gather = [&](int i, int pass) {
    return at(timeline, task_named(program, "all-gather blocks." + std::to_string(i), pass));
  };
  const auto copy_out = [&](int i, int pass) {
    // Backward has a second copy of the name between: into the reduce-scatter's input.
    return at(timeline, task_named(program, "copy blocks." + std::to_string(i), pass));
  };
  for (int i = 2; i < 8; ++i) EXPECT_GE(gather(i, 0).resident, copy_out(i - 2, 0).end) << i;
  for (int i = 1; i < 8; ++i) EXPECT_GE(gather(i - 1, 1).resident, copy_out(i, 1).end) << i;
}

// The input of the reduce-scatter of block i is filled only when that of block i + 1 is done, unless two are
// allowed.
TEST(Fsdp, I22_OneReduceScatterInputIsRetained) {
  Setting setting(Strategy::fsdp, "pytorch-compiled", 2);
  Program program;
  const Timeline timeline = on_slow_network(setting, program);
  for (int i = 0; i < 7; ++i) {
    const Interval later =
        at(timeline, task_named(program, "reduce-scatter blocks." + std::to_string(i + 1)));
    const Interval own = at(timeline, task_named(program, "reduce-scatter blocks." + std::to_string(i)));
    EXPECT_GE(own.eligible, later.end) << i;
  }
  Setting two(Strategy::fsdp, "pytorch-compiled", 2);
  two.scenario.training.reduce_scatter_max_input_buffers = 2;
  const Timeline freer = on_slow_network(two, program);
  EXPECT_LE(freer.step_time, timeline.step_time);
}

// 8 ranks, 1001 rows of 3: 126 rows a rank, 1008 x 3 gathered.
TEST(ShardUnits, I25_EveryParameterIsPaddedInItsFirstDimensionByFewerRowsThanRanks) {
  Model odd = chain_model(1, 1024);
  odd.layers[1].parameters = {{"weight", {1001, 3}}};
  const std::vector<ShardUnit> units = shard_units(odd, 8);
  ASSERT_EQ(units.size(), 2U);
  EXPECT_DOUBLE_EQ(units[1].elements, 1008 * 3);
}

TEST(ShardUnits, EmbeddingAndHeadBelongToTheRoot) {
  const std::vector<ShardUnit> units = shard_units(model(), 8);
  ASSERT_EQ(units.size(), 9U);
  EXPECT_EQ(units[0].layers, (std::vector<int>{0, 9}));
  EXPECT_DOUBLE_EQ(units[0].elements, root);
}

}  // namespace
}  // namespace stepcast
