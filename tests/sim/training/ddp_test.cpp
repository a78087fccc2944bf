#include <gtest/gtest.h>

#include "setting.hpp"

namespace stepcast {
namespace {

// 8 blocks of 2 x 1024^2 fp32 (8 MiB each block), head and embedding 4 MiB each.
Model model() { return chain_model(8, 1024); }
constexpr double psi = (8 * 2 * 1024.0 + 2 * 1024.0) * 1024.0;

// Ready order, MiB: head 4 (>= 1), then weights of 4: 28 (>= 25), 28, 8 and the embedding's 4: buckets 4, 28,
// 28, 12.
TEST(Ddp, I9_OneAllReduceForEachBucketAndTogetherAllGradients) {
  Setting setting(Strategy::ddp, "pytorch-compiled");
  const StepPlan plan = setting.with(model()).plan();
  const Traffic0 all_reduce = traffic(plan.program, "all_reduce");
  EXPECT_EQ(all_reduce.calls, 4);
  EXPECT_DOUBLE_EQ(all_reduce.bytes, 4 * psi);
}

TEST(Ddp, I11_BucketsAreLaunchedInIndexOrder) {
  Setting setting(Strategy::ddp, "pytorch-compiled");
  const Program program = setting.with(model()).plan().program;
  int next = 0;
  for (const Task& task : program.tasks) {
    if (task.kind != TaskKind::collective) continue;
    EXPECT_EQ(program.names[static_cast<std::size_t>(task.name)], "bucket " + std::to_string(next++));
  }
  EXPECT_EQ(next, 4);
}

// fp32 parameters under autocast: 4 bytes on the wire. With no_sync once a step, without it in each of 3
// micro-batches.
TEST(Ddp, I13_NoSyncMovesOncePerStepAndEveryMovesInEachMicroBatch) {
  Setting last(Strategy::ddp, "pytorch-compiled");
  last.scenario.training.gradient_accumulation_steps = 3;
  EXPECT_DOUBLE_EQ(traffic(last.with(model()).plan().program, "all_reduce").bytes, 4 * psi);
  Setting every(Strategy::ddp, "pytorch-compiled");
  every.scenario.training.gradient_accumulation_steps = 3;
  every.scenario.training.gradient_sync = GradientSync::every;
  EXPECT_DOUBLE_EQ(traffic(every.with(model()).plan().program, "all_reduce").bytes, 3 * 4 * psi);
}

TEST(Ddp, I13_ACompressionHookHalvesTheWire) {
  Setting setting(Strategy::ddp, "pytorch-compiled");
  setting.scenario.training.reduce_dtype = Dtype::bf16;
  const Traffic0 all_reduce = traffic(setting.with(model()).plan().program, "all_reduce");
  EXPECT_DOUBLE_EQ(all_reduce.bytes, 2 * psi);
  EXPECT_EQ(all_reduce.calls, 4) << "buckets are formed by the parameters' bytes";
}

TEST(Ddp, I14_TheBucketSizeChangesCallsButNotBytes) {
  Setting setting(Strategy::ddp, "pytorch-compiled");
  setting.scenario.training.bucket_size = setting.scenario.training.first_bucket_size = Bytes(1e12);
  const Traffic0 all_reduce = traffic(setting.with(model()).plan().program, "all_reduce");
  EXPECT_EQ(all_reduce.calls, 1);
  EXPECT_DOUBLE_EQ(all_reduce.bytes, 4 * psi);
}

TEST(Ddp, I3_OneRankNeverCommunicates) {
  for (const char* software : {"pytorch-compiled", "deepspeed", "megatron-core", "stepcast-trainer"}) {
    Setting setting(Strategy::ddp, software, 1, 1);
    const Program program = setting.with(model()).plan().program;
    EXPECT_TRUE(program.collectives.empty()) << software;
    const Timeline timeline = simulate(program);
    EXPECT_TRUE(timeline.steady) << software;
  }
}

TEST(Ddp, BuffersAreBroadcastAtTheForwardAfterASynchronisedBackward) {
  Model with_buffers = model();
  with_buffers.layers[3].buffers = Bytes(4096);
  Setting setting(Strategy::ddp, "pytorch-eager");
  setting.scenario.training.gradient_accumulation_steps = 3;
  EXPECT_EQ(traffic(setting.with(with_buffers).plan().program, "broadcast").calls, 1);
  Setting every(Strategy::ddp, "pytorch-eager");
  every.scenario.training.gradient_accumulation_steps = 3;
  every.scenario.training.gradient_sync = GradientSync::every;
  EXPECT_EQ(traffic(every.with(with_buffers).plan().program, "broadcast").calls, 3);
}

// 18 parameter tensors: a map of 72 bytes, after the buckets.
TEST(Ddp, FindingUnusedParametersAddsAMapAndKeepsRegistrationOrder) {
  Setting setting(Strategy::ddp, "pytorch-eager");
  setting.scenario.training.find_unused_parameters = true;
  const Traffic0 all_reduce = traffic(setting.with(model()).plan().program, "all_reduce");
  EXPECT_DOUBLE_EQ(all_reduce.bytes, 4 * psi + 72);
  // Registration order: the embedding's 4 MiB are the small first bucket, which then goes last.
  EXPECT_EQ(all_reduce.calls, 5);
}

// The forward of all layers is one task, and each unsynchronised micro-batch two.
TEST(Ddp, KernelsBetweenEventsAreOneTask) {
  Setting setting(Strategy::ddp, "pytorch-compiled");
  setting.scenario.training.gradient_accumulation_steps = 2;
  const Program program = setting.with(model()).plan().program;
  int first_micro_batch = 0;
  for (const Task& task : program.tasks) first_micro_batch += task.micro_batch == 0 ? 1 : 0;
  EXPECT_EQ(first_micro_batch, 2);
}

TEST(Ddp, FewerMicroBatchesArePlannedThanAskedAndTheRestRepeats) {
  Setting setting(Strategy::ddp, "pytorch-compiled");
  setting.scenario.training.gradient_accumulation_steps = 100;
  const Program program = setting.with(model()).plan().program;
  EXPECT_EQ(program.micro_batch_marks.size(), 4U);
  EXPECT_EQ(program.repeated_micro_batches, 96);
}

// Written out or repeated, 12 micro-batches take the same time where the GPU is the limit (a CPU that lags
// behind in short steps and not in long ones has no steady micro-batch).
TEST(Ddp, RepeatedMicroBatchesCostWhatWrittenOnesDo) {
  Setting setting(Strategy::ddp, "pytorch-compiled");
  setting.scenario.training.gradient_accumulation_steps = 12;
  setting.scenario.training.micro_batch_size = 64;
  setting.with(chain_model(8, 4096));
  PlanOptions all;
  all.planned_micro_batches = 12;
  const Timeline written = simulate(setting.plan(all).program);
  const Timeline repeated = simulate(setting.plan().program);
  EXPECT_TRUE(repeated.micro_batches_agree);
  EXPECT_NEAR(seconds(repeated.step_time), seconds(written.step_time), 1e-9 * seconds(written.step_time));
}

// Slowed by every SM that a collective may hold, compute and communication end to end are the most that a
// step can take; either alone the least. 2 % for host launches and what memory traffic stretches.
TEST(Ddp, I15_TheStepLiesBetweenTheLongestPartAndTheSumOfParts) {
  Setting setting(Strategy::ddp, "pytorch-compiled", 2);
  setting.preset("gpt2");
  const Program program = setting.plan().program;
  const Timeline timeline = simulate(program);
  double least = 0, most = 0, communication = 0;
  for (const Task& task : program.tasks) {
    if (task.kind == TaskKind::compute) {
      const WorkCost& work = program.works[static_cast<std::size_t>(task.payload)];
      least += seconds(work.durations.front());
      most += seconds(work.durations.back());
    } else if (task.kind == TaskKind::collective) {
      const auto& interval = timeline.intervals[static_cast<std::size_t>(&task - program.tasks.data())];
      communication += seconds(interval.end - interval.moving);
    }
  }
  EXPECT_GE(seconds(timeline.step_time), std::max(least, communication));
  EXPECT_LE(seconds(timeline.step_time), 1.02 * (most + communication));
}

}  // namespace
}  // namespace stepcast
