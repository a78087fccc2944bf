#include <gtest/gtest.h>

#include "setting.hpp"

namespace stepcast {
namespace {

Model model() { return chain_model(8, 1024); }
constexpr double psi = (8 * 2 * 1024.0 + 2 * 1024.0) * 1024.0;

Setting setting(Strategy strategy, int accumulation = 1) {
  Setting made(strategy, "deepspeed");
  made.scenario.training.gradient_accumulation_steps = accumulation;
  made.with(model());
  return made;
}

// An all-reduce moves twice its size: 2 Psi + Psi, once, whatever the accumulation.
TEST(DeepSpeedStage1, I19_AllReducesOnceAndGathersOnce) {
  for (const int accumulation : {1, 3}) {
    Setting made = setting(Strategy::zero1, accumulation);
    const Program program = made.plan().program;
    EXPECT_DOUBLE_EQ(traffic(program, "all_reduce").bytes, 2 * psi);
    EXPECT_DOUBLE_EQ(traffic(program, "all_gather").bytes, 2 * psi);
    EXPECT_EQ(traffic(program, "all_gather").calls, 1);
    EXPECT_EQ(traffic(program, "reduce_scatter").calls, 0);
  }
}

TEST(DeepSpeedStage2, I19_AllReducesInEveryMicroBatchAndGathersOnce) {
  Setting made = setting(Strategy::zero2, 3);
  const Program program = made.plan().program;
  EXPECT_DOUBLE_EQ(traffic(program, "all_reduce").bytes, 3 * 2 * psi);
  EXPECT_DOUBLE_EQ(traffic(program, "all_gather").bytes, 2 * psi);
}

TEST(DeepSpeedStage2, ReducesInBucketsOfItsOwnCount) {
  Setting made = setting(Strategy::zero2);
  made.scenario.training.reduce_bucket_size = 4e6;  // three of 1,048,576
  const Traffic0 all_reduce = traffic(made.plan().program, "all_reduce");
  EXPECT_EQ(all_reduce.calls, 6);
  EXPECT_DOUBLE_EQ(all_reduce.bytes, 2 * psi);
}

// Without overlap the compute stream stands still while a bucket is reduced; with it at most one reduction
// runs beside.
TEST(DeepSpeedStage2, OverlapHidesReductionsUnderBackward) {
  Setting serial(Strategy::zero2, "deepspeed", 2), overlapped(Strategy::zero2, "deepspeed", 2);
  overlapped.scenario.training.overlap_comm = true;
  for (Setting* made : {&serial, &overlapped}) {
    made->scenario.training.reduce_bucket_size = 2e7;
    made->scenario.training.micro_batch_size = 8;
    made->preset("gpt2");
  }
  EXPECT_LT(simulate(overlapped.plan().program).step_time, simulate(serial.plan().program).step_time);
}

// Facts 12.6 against 12.5: stage 2 reduces a full bucket inside backward, before the kernels that follow it;
// stage 1 walks over its buckets when backward has ended.
TEST(DeepSpeedStage2, ReducesInsideBackwardWhereStage1WaitsForItsEnd) {
  const auto backward_after_a_reduction = [](Strategy strategy) {
    Setting made = setting(strategy);
    made.scenario.training.reduce_bucket_size = 4e6;
    const Program program = made.plan().program;
    bool reduced = false;
    for (const Task& task : program.tasks) {
      reduced = reduced || task.kind == TaskKind::collective;
      if (reduced && task.role == TaskRole::backward) return true;
    }
    return false;
  };
  EXPECT_TRUE(backward_after_a_reduction(Strategy::zero2));
  EXPECT_FALSE(backward_after_a_reduction(Strategy::zero1));
}

TEST(DeepSpeedStage1, NothingOverlaps) {
  Setting made(Strategy::zero1, "deepspeed", 2);
  made.preset("gpt2");
  const Program program = made.plan().program;
  const Timeline timeline = simulate(program);
  for (std::size_t c = 0; c < program.tasks.size(); ++c) {
    if (program.tasks[c].kind != TaskKind::collective) continue;
    for (std::size_t k = 0; k < program.tasks.size(); ++k) {
      if (program.tasks[k].kind != TaskKind::compute) continue;
      const Interval& compute = timeline.intervals[k];
      const Interval& collective = timeline.intervals[c];
      EXPECT_TRUE(compute.end <= collective.resident || collective.end <= compute.resident)
          << c << " beside " << k;
    }
  }
}

// 2 Psi = 3.8e7 elements, far below 1e9.
TEST(DeepSpeedStage3, I20_SmallModelsGatherNothingInBackward) {
  Setting made = setting(Strategy::zero3);
  const Program program = made.plan().program;
  EXPECT_DOUBLE_EQ(traffic(program, "all_gather").bytes, 2 * psi);
}

TEST(DeepSpeedStage3, GathersTwiceWithoutReuse) {
  Setting made = setting(Strategy::zero3);
  made.scenario.training.stage3_max_reuse_distance = 0;
  const Program program = made.plan().program;
  EXPECT_DOUBLE_EQ(traffic(program, "all_gather").bytes, 2 * (2 * psi));
}

TEST(DeepSpeedStage3, ReduceScattersInEveryMicroBatchInOneBucketWhenSmall) {
  Setting made = setting(Strategy::zero3, 3);
  const Program program = made.plan().program;
  const Traffic0 reduce_scatter = traffic(program, "reduce_scatter");
  EXPECT_EQ(reduce_scatter.calls, 3);
  EXPECT_DOUBLE_EQ(reduce_scatter.bytes, 3 * 2 * psi);
}

// Two norm vectors of 1024 in each block are at most 1e5 elements: gathered once a step, after the update.
TEST(DeepSpeedStage3, I24_PersistentParametersAreGatheredOnceAfterTheStep) {
  Model with_norms = model();
  for (Layer& layer : with_norms.layers) {
    if (layer.kind != LayerKind::block) continue;
    layer.parameters.push_back({"norm.weight", {1024}});
    layer.operators[0].parameters.push_back(2);
  }
  Setting made(Strategy::zero3, "deepspeed");
  const Program program = made.with(with_norms).plan().program;
  const Task& last = program.tasks[static_cast<std::size_t>(program.end_task)];
  EXPECT_EQ(program.names[static_cast<std::size_t>(last.name)], "persistent parameters");
  EXPECT_DOUBLE_EQ(traffic(program, "all_gather").bytes, 2 * (psi + 8 * 1024));
}

// Gathers in the order in which modules wait for them: before module j waits for its own, the CPU has waited
// for that of j - 3, so that with its own on the way two older ones are outstanding at most.
TEST(DeepSpeedStage3, I22_TheCpuLetsTwoFetchesBeOutstanding) {
  Setting made(Strategy::zero3, "deepspeed");
  made.scenario.training.stage3_max_reuse_distance = 0;
  const Program program = made.with(chain_model(4, 4096, 7)).plan().program;
  const auto waits_of = [&](const Task& task) {
    std::vector<int> targets;
    for (int w = 0; w < task.wait_count; ++w) {
      const Wait& wait = program.waits[static_cast<std::size_t>(task.first_wait + w)];
      if (wait.steps_back == 0) targets.push_back(wait.task);
    }
    return targets;
  };
  const auto is_gather = [&](int task) {
    const Task& t = program.tasks[static_cast<std::size_t>(task)];
    return program.stream_names[static_cast<std::size_t>(t.stream)] == "all-gather";
  };
  std::vector<int> awaited;
  std::size_t cpu_passed = 0;
  for (const Task& task : program.tasks) {
    for (const int target : waits_of(task)) {
      if (task.kind == TaskKind::host_wait && is_gather(target)) {
        ASSERT_LT(cpu_passed, awaited.size());
        EXPECT_EQ(target, awaited[cpu_passed++]);
      } else if (task.kind == TaskKind::compute && task.stream == 0 && is_gather(target)) {
        awaited.push_back(target);
        EXPECT_LE(awaited.size() - cpu_passed, 3U);
      }
    }
  }
  EXPECT_GT(cpu_passed, 3U);
}

TEST(DeepSpeedStage3, FullCheckpointingMeetsEachBlockAgainWithoutGatheringItTwice) {
  Setting none = setting(Strategy::zero3), full = setting(Strategy::zero3);
  full.scenario.training.activation_checkpointing = Checkpointing::full;
  none.scenario.training.stage3_max_reuse_distance = full.scenario.training.stage3_max_reuse_distance = 8e6;
  const double bytes_none = traffic(none.plan().program, "all_gather").bytes;
  const double bytes_full = traffic(full.plan().program, "all_gather").bytes;
  EXPECT_NEAR(bytes_full, bytes_none, 3 * 2 * 1024 * 1024.0 * 2);
}

TEST(DeepSpeedStage0, AllReducesAfterBackwardOncePerStep) {
  Setting made = setting(Strategy::ddp, 3);
  const Program program = made.plan().program;
  EXPECT_DOUBLE_EQ(traffic(program, "all_reduce").bytes, 2 * psi);
  EXPECT_EQ(traffic(program, "all_reduce").calls, 1);
}

}  // namespace
}  // namespace stepcast
