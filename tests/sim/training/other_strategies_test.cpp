#include <gtest/gtest.h>

#include "setting.hpp"

namespace stepcast {
namespace {

Model model() { return chain_model(8, 1024); }
constexpr double psi = (8 * 2 * 1024.0 + 2 * 1024.0) * 1024.0;

TEST(ZeroRedundancyOptimizer, AllReducesAsDdpAndBroadcastsEveryParameterFromItsOwner) {
  Setting setting(Strategy::zero1, "pytorch-compiled");
  const Program program = setting.with(model()).plan().program;
  EXPECT_DOUBLE_EQ(traffic(program, "all_reduce").bytes, 4 * psi);
  EXPECT_EQ(traffic(program, "broadcast").calls, 18);
  EXPECT_DOUBLE_EQ(traffic(program, "broadcast").bytes, 4 * psi);
}

// fp32 gradients, bf16 parameters: RS 4 Psi, AG 2 Psi, once a step.
TEST(MegatronDistributedOptimizer, ReduceScattersGradientsAndGathersParametersOnce) {
  Setting setting(Strategy::zero1, "megatron-core");
  setting.scenario.training.gradient_accumulation_steps = 3;
  const Program program = setting.with(model()).plan().program;
  EXPECT_DOUBLE_EQ(traffic(program, "reduce_scatter").bytes, 4 * psi);
  EXPECT_DOUBLE_EQ(traffic(program, "all_gather").bytes, 2 * psi);
  EXPECT_EQ(traffic(program, "reduce_scatter").calls, 1) << "without overlap there are no buckets";
}

// Buckets of at least 4e6 elements: four of 1,048,576 each, 18 tensors make 5 buckets.
TEST(MegatronDistributedOptimizer, OverlapCutsTheBufferIntoBuckets) {
  Setting setting(Strategy::zero1, "megatron-core");
  setting.scenario.training.overlap_grad_reduce = true;
  setting.scenario.training.overlap_param_gather = true;
  setting.scenario.training.ddp_bucket_elements = 4e6;
  const Program program = setting.with(model()).plan().program;
  EXPECT_EQ(traffic(program, "reduce_scatter").calls, 5);
  EXPECT_EQ(traffic(program, "all_gather").calls, 5);
  const Task& last = program.tasks[static_cast<std::size_t>(program.end_task)];
  EXPECT_EQ(last.role, TaskRole::optimizer) << "the gathers belong to the next forward";
}

TEST(MegatronDistributedOptimizer, OverlapIsFaster) {
  Setting plain(Strategy::zero1, "megatron-core", 2), overlapped(Strategy::zero1, "megatron-core", 2);
  overlapped.scenario.training.overlap_grad_reduce = overlapped.scenario.training.overlap_param_gather = true;
  for (Setting* setting : {&plain, &overlapped}) {
    setting->scenario.training.micro_batch_size = 8;
    setting->preset("gpt2-xl");
  }
  EXPECT_LT(simulate(overlapped.plan().program).step_time, simulate(plain.plan().program).step_time);
}

TEST(MegatronDataParallel, AllReducesOnceAfterTheScheduleByDefault) {
  Setting setting(Strategy::ddp, "megatron-core");
  setting.scenario.training.gradient_accumulation_steps = 3;
  const Traffic0 all_reduce = traffic(setting.with(model()).plan().program, "all_reduce");
  EXPECT_EQ(all_reduce.calls, 1);
  EXPECT_DOUBLE_EQ(all_reduce.bytes, 4 * psi);
}

TEST(StepcastTrainer, Zero1ReducesInBucketsOfDdpAndGathersThem) {
  Setting setting(Strategy::zero1, "stepcast-trainer");
  setting.scenario.training.gradient_accumulation_steps = 3;
  const Program program = setting.with(model()).plan().program;
  EXPECT_DOUBLE_EQ(traffic(program, "reduce_scatter").bytes, 4 * psi);
  EXPECT_DOUBLE_EQ(traffic(program, "all_gather").bytes, 4 * psi);
  EXPECT_EQ(traffic(program, "reduce_scatter").calls, 4);
  EXPECT_EQ(traffic(program, "all_gather").calls, 4);
}

TEST(StepcastTrainer, Zero2ReducesInEveryMicroBatch) {
  Setting setting(Strategy::zero2, "stepcast-trainer");
  setting.scenario.training.gradient_accumulation_steps = 3;
  const Program program = setting.with(model()).plan().program;
  EXPECT_DOUBLE_EQ(traffic(program, "reduce_scatter").bytes, 3 * 4 * psi);
  EXPECT_DOUBLE_EQ(traffic(program, "all_gather").bytes, 4 * psi);
}

TEST(StepcastTrainer, Zero3IsFsdp) {
  Setting zero3(Strategy::zero3, "stepcast-trainer"), fsdp(Strategy::fsdp, "stepcast-trainer");
  EXPECT_EQ(simulate(zero3.with(model()).plan().program).step_time,
            simulate(fsdp.with(model()).plan().program).step_time);
}

// Measured layers of 1 ms forward and 2 ms backward each, ten of them, 4 ms of optimizer: 34 ms on one rank.
Model measured_model() {
  Model measured = model();
  for (Layer& layer : measured.layers) {
    layer.operators.clear();
    layer.forward_time = Seconds(1e-3);
    layer.backward_time = Seconds(2e-3);
  }
  measured.measured = MeasuredWorkload{};
  measured.measured->samples_per_micro_batch = 1;
  measured.measured->optimizer_time = Seconds(4e-3);
  return measured;
}

TEST(MeasuredWorkload, TakesItsComputeFromTheLayers) {
  Setting setting(Strategy::ddp, "stepcast-trainer", 1, 1);
  const Timeline timeline = simulate(setting.with(measured_model()).plan().program);
  const double per_step = setting.profile().software.host_per_step.value.value;
  EXPECT_GE(seconds(timeline.step_time), 34e-3);
  EXPECT_LE(seconds(timeline.step_time), 34e-3 + per_step + 1e-6);
}

// The optimizer's 4 ms become 0.5 ms on 8 ranks under zero1.
TEST(MeasuredWorkload, OptimizerTimeShrinksWithTheShard) {
  Setting setting(Strategy::zero1, "stepcast-trainer");
  const Program program = setting.with(measured_model()).plan().program;
  const Task& update = program.tasks[static_cast<std::size_t>(task_named(program, "optimizer"))];
  EXPECT_NEAR(seconds(program.works[static_cast<std::size_t>(update.payload)].durations[0]), 0.5e-3, 1e-9);
}

// 16 ms of copies in a synchronised backward, by bytes over the buckets, half in and half out.
TEST(MeasuredWorkload, BucketingTimeIsSpreadOverTheBuckets) {
  Model measured = measured_model();
  measured.measured->bucketing_time = Seconds(16e-3);
  Setting with(Strategy::ddp, "pytorch-compiled"), without(Strategy::ddp, "pytorch-compiled");
  const auto compute = [](const Program& program) {
    double sum = 0;
    for (const Task& task : program.tasks) {
      if (task.kind == TaskKind::compute)
        sum += seconds(program.works[static_cast<std::size_t>(task.payload)].durations[0]);
    }
    return sum;
  };
  EXPECT_NEAR(
      compute(with.with(measured).plan().program) - compute(without.with(measured_model()).plan().program),
      16e-3, 1e-9);
}

// 8 samples a step and node at 100 samples/s: at least 80 ms.
TEST(Input, ALimiterHoldsTheStepBack) {
  Setting setting(Strategy::ddp, "pytorch-compiled");
  setting.scenario.input.samples_per_second_per_node = 100;
  const Timeline timeline = simulate(setting.with(model()).plan().program);
  EXPECT_NEAR(seconds(timeline.step_time), 80e-3, 8e-3);
  EXPECT_GE(seconds(timeline.step_time), 80e-3);
}

}  // namespace
}  // namespace stepcast
