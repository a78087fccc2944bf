#include <gtest/gtest.h>

#include <ctime>

#include "setting.hpp"
#include "sim/engine/program_check.hpp"

namespace stepcast {
namespace {

struct Pair {
  Strategy strategy{};
  std::string software;
};

/// Design 6.2's table.
std::vector<Pair> every_pair() {
  using enum Strategy;
  return {{ddp, "pytorch-eager"},      {ddp, "pytorch-compiled"},   {ddp, "deepspeed"},
          {ddp, "megatron-core"},      {ddp, "stepcast-trainer"},   {zero1, "pytorch-eager"},
          {zero1, "pytorch-compiled"}, {zero1, "deepspeed"},        {zero1, "megatron-core"},
          {zero1, "stepcast-trainer"}, {zero2, "deepspeed"},        {zero2, "stepcast-trainer"},
          {zero3, "deepspeed"},        {zero3, "stepcast-trainer"}, {fsdp, "pytorch-eager"},
          {fsdp, "pytorch-compiled"},  {fsdp, "stepcast-trainer"},  {hsdp, "pytorch-eager"},
          {hsdp, "pytorch-compiled"},  {hsdp, "stepcast-trainer"}};
}

class EveryPair : public testing::TestWithParam<Pair> {};

TEST_P(EveryPair, RunsToASteadyStepAndIsSound) {
  for (const Checkpointing mode : {Checkpointing::none, Checkpointing::selective, Checkpointing::full}) {
    for (const int accumulation : {1, 2, 9}) {
      Setting setting(GetParam().strategy, GetParam().software, 2);
      setting.scenario.training.activation_checkpointing = mode;
      setting.scenario.training.gradient_accumulation_steps = accumulation;
      setting.scenario.training.micro_batch_size = 8;  // enough that the GPU is the limit, not the CPU
      const Program program = setting.preset("gpt2").plan().program;
      ASSERT_NO_THROW(check(program));
      const Timeline timeline = simulate(program);
      EXPECT_TRUE(timeline.steady);
      EXPECT_TRUE(timeline.micro_batches_agree) << accumulation;
    }
  }
}

// Folded and unfolded runs of a symmetric job give the same numbers (design 4), to a picosecond per event of
// rounding.
TEST_P(EveryPair, FoldedAndUnfoldedAgree) {
  Setting setting(GetParam().strategy, GetParam().software, 2, 4);
  setting.scenario.training.gradient_accumulation_steps = 2;
  setting.with(chain_model(6, 2048));
  PlanOptions unfolded;
  unfolded.unfolded = true;
  const Program all = setting.plan(unfolded).program, one = setting.plan().program;
  EXPECT_EQ(all.ranks, 8);
  EXPECT_EQ(one.ranks, 1);
  const double folded = seconds(simulate(one).step_time);
  EXPECT_NEAR(seconds(simulate(all).step_time), folded, 1e-6 * folded);
}

// Fewer than the FLOPs at the datasheet's peak allow, or than the CPU launches, no step takes.
TEST_P(EveryPair, I39_TheStepTakesAtLeastItsFlopsItsLaunchesAndItsCommunication) {
  Setting setting(GetParam().strategy, GetParam().software, 2);
  const StepPlan plan = setting.preset("gpt2").plan();
  const Timeline timeline = simulate(plan.program);
  const double step = seconds(timeline.step_time);
  const Profile& profile = setting.profile();
  const double peak = profile.gpu.peak.at(Dtype::bf16).value.value;
  EXPECT_GE(step, plan.hardware_flops.value / (16 * peak));
  double host = 0;
  std::vector<double> communicator(plan.program.communicators.size());
  for (std::size_t i = 0; i < plan.program.tasks.size(); ++i) {
    const Task& task = plan.program.tasks[i];
    host += seconds(task.host_time);
    if (task.kind != TaskKind::collective) continue;
    const Interval& interval = timeline.intervals[i];
    communicator[static_cast<std::size_t>(
        plan.program.collectives[static_cast<std::size_t>(task.payload)].communicator)] +=
        seconds(interval.end - interval.moving);
  }
  EXPECT_GE(step, host * (1 - 1e-9));
  for (const double time : communicator) EXPECT_GE(step, time * (1 - 1e-9));
}

TEST_P(EveryPair, I3_OneRankNeverCommunicates) {
  Setting setting(GetParam().strategy, GetParam().software, 1, 1);
  EXPECT_TRUE(setting.preset("gpt2", 256).plan().program.collectives.empty());
}

TEST_P(EveryPair, I48_TheSameQuestionGivesTheSameProgram) {
  Setting a(GetParam().strategy, GetParam().software), b(GetParam().strategy, GetParam().software);
  const Program first = a.preset("gpt2", 256).plan().program, second = b.preset("gpt2", 256).plan().program;
  ASSERT_EQ(first.tasks.size(), second.tasks.size());
  EXPECT_EQ(simulate(first).step_time, simulate(second).step_time);
}

std::string pair_name(const testing::TestParamInfo<Pair>& info) {
  std::string name = std::string(name_of(info.param.strategy)) + "_" + info.param.software;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryPair, testing::ValuesIn(every_pair()), pair_name);

// Full recomputation runs the blocks' forward again: 4/3 of the FLOPs, embedding and head aside.
TEST(StepPlan, I36_FullRecomputationAddsTheBlocksForward) {
  Setting none(Strategy::ddp, "pytorch-compiled"), full(Strategy::ddp, "pytorch-compiled");
  full.scenario.training.activation_checkpointing = Checkpointing::full;
  const StepPlan a = none.with(chain_model(8, 1024)).plan(), b = full.with(chain_model(8, 1024)).plan();
  EXPECT_EQ(a.model_flops, a.hardware_flops);
  EXPECT_EQ(a.model_flops, b.model_flops);
  // 16 weights of 1024^2, 64 rows, 2 FLOPs, 8 GPUs.
  EXPECT_DOUBLE_EQ((b.hardware_flops - b.model_flops).value, 8 * 16 * 2 * 64 * 1024.0 * 1024.0);
}

TEST(StepPlan, DetailKeepsTheKernelsOfEachTask) {
  Setting setting(Strategy::ddp, "pytorch-compiled");
  setting.with(chain_model(2, 1024));
  PlanOptions detailed;
  detailed.detailed = true;
  const Program program = setting.plan(detailed).program;
  for (const WorkCost& work : program.works) {
    ASSERT_FALSE(work.parts.empty());
    Picoseconds sum = 0;
    for (const auto& part : work.parts) sum += part.duration;
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(work.durations.front()),
                static_cast<double>(work.parts.size()));
  }
}

// The issue asks for less than 5 ms of CPU for a 32-GPU point of a 32-layer model, planning and simulation
// together, with the costs that a sweep shares already known. Only optimized builds are held to it, with room
// for a busy machine.
TEST(StepPlan, ThirtyTwoGpusOfA32LayerModelArePlannedInMilliseconds) {
#ifdef NDEBUG
  Setting setting(Strategy::fsdp, "pytorch-compiled", 4);
  setting.preset("llama-3.1-8b", 8192);
  (void)setting.plan();
  const std::clock_t begin = std::clock();
  const StepPlan plan = setting.plan();
  (void)simulate(plan.program);
  const double milliseconds = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  RecordProperty("milliseconds", std::to_string(milliseconds));
  EXPECT_LT(milliseconds, 50);
#else
  GTEST_SKIP() << "not an optimized build";
#endif
}

}  // namespace
}  // namespace stepcast
