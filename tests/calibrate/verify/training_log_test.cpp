#include "calibrate/verify/training_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostic.hpp"
#include "calibrate/verify/steady_step.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

TrainingLog parsed(const std::string& text, const BatchHint& hint = {}) {
  return parse_training_log(text, "x.log", hint);
}

std::vector<double> times_of(const TrainingLog& log) {
  std::vector<double> times;
  for (const LoggedStep& step : log.steps) times.push_back(step.time->value);
  return times;
}

const std::string megatron =
    " iteration       10/     100 | consumed samples:          640 | elapsed time per iteration (ms): 1500.0 "
    "| learning rate: 1.000E-04 | global batch size:    64 | lm loss: 9.5E+00 | loss scale: 1.0 |\n"
    " iteration       20/     100 | consumed samples:         1280 | elapsed time per iteration (ms): 1250.5 "
    "| learning rate: 1.000E-04 | global batch size:    64 | lm loss: 8.5E+00 | loss scale: 1.0 |\n";

TEST(TrainingLog, ReadsMegatronsIterations) {
  const TrainingLog log = parsed(megatron);
  EXPECT_EQ(log.software, "Megatron-LM");
  EXPECT_THAT(times_of(log), testing::ElementsAre(1.5, 1.2505));
  EXPECT_EQ(log.steps[1].number, 20);
  EXPECT_DOUBLE_EQ(log.steps[1].loss.value(), 8.5);
  EXPECT_EQ(log.facts.global_batch_size, 64);
}

TEST(TrainingLog, LooksPastLabelsColoursAndTimeStamps) {
  for (const std::string prefix :
       {"12: ", "[1,0]<stdout>:", "gpu-node-7: ", "[pod/train-0/trainer] ",
        "[default0]:", "[rank0]:", "[2025-03-01 10:11:12.345678]", "\033[36m(Worker pid=17)\033[0m "}) {
    std::string text = prefix + megatron;
    text.insert(text.find('\n') + 1, prefix);
    EXPECT_THAT(times_of(parsed(text)), testing::ElementsAre(1.5, 1.2505)) << prefix;
  }
}

TEST(TrainingLog, CountsAStepThatSeveralRanksTellOnce) {
  const std::string first = megatron.substr(0, megatron.find('\n') + 1);
  EXPECT_EQ(parsed("0:" + first + "8:" + first + megatron).steps.size(), 2u);
}

TEST(TrainingLog, TakesTheLastOfSeveralRuns) {
  std::string again = megatron;
  again.replace(again.find("1500.0"), 6, "1111.0");
  const TrainingLog log = parsed(megatron + again);
  EXPECT_THAT(times_of(log), testing::ElementsAre(1.111, 1.2505));
  EXPECT_THAT(log.notes, testing::ElementsAre(HasSubstr("several runs")));
}

TEST(TrainingLog, TellsModelParallelRanksFromDevices) {
  const LogFacts facts = parsed(
                             "using world size: 64, data-parallel-size: 8, tensor-model-parallel size: 4, "
                             "pipeline-model-parallel size: 2\n  micro_batch_size ............. 4\n"
                             "  seq_length ................... 2048\n  virtual_pipeline_model_parallel_size "
                             "............ None\n" +
                             megatron)
                             .facts;
  EXPECT_EQ(facts.world_size, 64);
  EXPECT_EQ(facts.data_parallel_size, 8);
  EXPECT_EQ(facts.tensor_parallel, 4);
  EXPECT_EQ(facts.pipeline_parallel, 2);
  EXPECT_EQ(facts.micro_batch_size, 4);
  EXPECT_EQ(facts.sequence_length, 2048);
}

const std::string deepspeed =
    "[2024-05-01 12:00:00,500] [INFO] [timer.py:199:stop] epoch=0/micro_step=10/global_step=10, "
    "RunningAvgSamplesPerSec=60.0, CurrSamplesPerSec=64.0, MemAllocated=3.96GB, MaxMemAllocated=22.5GB\n"
    "[2024-05-01 12:00:10,500] [INFO] [timer.py:199:stop] epoch=0/micro_step=20/global_step=20, "
    "RunningAvgSamplesPerSec=60.0, CurrSamplesPerSec=32.0, MemAllocated=3.96GB, MaxMemAllocated=23.5GB\n";

TEST(TrainingLog, MakesDeepspeedsRatesTimesByTheBatchThatItPrints) {
  // 128 samples at 64 and at 32 samples/s.
  const TrainingLog log =
      parsed("[INFO] [config.py:752:print]   train_batch_size ............. 128\n" + deepspeed);
  EXPECT_THAT(times_of(log), testing::ElementsAre(2.0, 4.0));
  EXPECT_EQ(log.memory, gibibytes(23.5));
}

TEST(TrainingLog, TakesMemoryFromDeepspeedsLinesWhereMegatronTimesTheSteps) {
  const TrainingLog log = parsed(deepspeed + megatron);
  EXPECT_THAT(times_of(log), testing::ElementsAre(1.5, 1.2505));  // Megatron's
  EXPECT_EQ(log.memory, gibibytes(23.5));
}

TEST(TrainingLog, TakesMemoryFromTheToolThatTimesTheStepsWhereItTellsIt) {
  const TrainingLog log =
      parsed(deepspeed + megatron +
             "[Rank 0] (after 20 iterations) memory (MB) | allocated: 1024.0 | max allocated: 2048.0 |\n");
  EXPECT_EQ(log.memory, gibibytes(2));
}

TEST(TrainingLog, MakesRatesTimesByTheClockWhereNoBatchIsPrinted) {
  // Ten steps in ten seconds; at 32 samples/s that is a batch of 32.
  const TrainingLog log = parsed(deepspeed);
  EXPECT_THAT(times_of(log), testing::ElementsAre(testing::DoubleNear(1.0, 1e-6)));
  EXPECT_EQ(log.facts.global_batch_size, 32);
}

TEST(TrainingLog, MakesRatesTimesByTheScenariosBatchAtLast) {
  const std::string one = deepspeed.substr(0, deepspeed.find('\n') + 1);
  const TrainingLog log = parsed(one, {.samples_per_step = 16});
  EXPECT_THAT(times_of(log), testing::ElementsAre(0.25));
  EXPECT_THAT(log.notes, testing::ElementsAre(HasSubstr("scenario")));
}

TEST(TrainingLog, ReadsDeepspeedsTimersOfWholeSteps) {
  const TrainingLog log = parsed(
      "[Rank 0] time (ms) | fwd_microstep: 50.0 | bwd_microstep: 100.0 | step_microstep: 0.0\n"
      "[Rank 0] time (ms) | fwd_microstep: 50.0 | bwd_microstep: 110.0 | step_microstep: 40.0\n"
      "[Rank 0] time (ms) | fwd: 100.0 | bwd: 210.0 | bwd_inner: 200.0 | bwd_allreduce: 10.0 | step: 40.0\n");
  EXPECT_THAT(times_of(log), testing::ElementsAre(testing::DoubleEq(0.35)));
  EXPECT_EQ(log.micro_steps.size(), 2u);
}

TEST(TrainingLog, ReadsTorchtitan) {
  // 2 x 8192 tokens of a device at 8,192 tokens/s.
  const TrainingLog log = parsed(
      "[rank0]:[titan] 2025-01-02 03:04:05,678 - root - INFO - Trainer is initialized with local batch "
      "size 2, global batch size 16, gradient accumulation steps 1, sequence length 8192, total steps "
      "1000 (warmup 200)\n"
      "[rank0]:[titan] 2025-01-02 03:05:05,678 - root - INFO - \033[31mstep: 10  \033[32mloss:  7.9632  "
      "\033[38;2;180;60;0mgrad_norm:  2.1 \033[33mmemory: 28.82GiB(36.42%)  \033[34mtps: 8,192  "
      "\033[36mtflops: 338.90  \033[35mmfu: 34.26%\033[39m\n");
  EXPECT_EQ(log.software, "torchtitan");
  EXPECT_THAT(times_of(log), testing::ElementsAre(2.0));
  EXPECT_NEAR(log.memory.value() / gibibytes(1), 28.82, 1e-9);
  EXPECT_EQ(log.facts.global_batch_size, 16);
}

TEST(TrainingLog, ReadsNanogpt) {
  const TrainingLog log = parsed(
      "tokens per iteration will be: 262,144\nstep 0: train loss 10.9, val loss 10.9\n"
      "iter 0: loss 10.98, time 9000.00ms, mfu -100.00%\niter 10: loss 9.5, time 500.25ms, mfu 12.5%\n");
  EXPECT_THAT(times_of(log), testing::ElementsAre(9.0, 0.50025));
  EXPECT_DOUBLE_EQ(log.steps[1].tokens.value(), 262144);
}

TEST(TrainingLog, ReadsLlmCsTerminal) {
  const TrainingLog log = parsed(
      "step    1/19560 | loss 11.009 (+nanz)| norm 15.37 (+nanz)| lr 8.57e-07 | 2891.12 ms | 57.6% bf16 MFU "
      "| "
      "181345 tok/s\nstep 2/74: train loss 4.36 (132.12 ms, 31007 tok/s)\n");
  EXPECT_EQ(log.software, "llm.c");
  EXPECT_THAT(times_of(log), testing::ElementsAre(testing::DoubleEq(2.89112), testing::DoubleEq(0.13212)));
}

TEST(TrainingLog, ReadsMlperfsBlocksAndSkipsEvaluation) {
  const auto event = [](const std::string& key, const std::string& value, int time, int step) {
    return "0: :::MLLOG {\"namespace\": \"\", \"time_ms\": " + std::to_string(time) + ", \"key\": \"" + key +
           "\", \"value\": " + value + ", \"metadata\": {\"step_num\": " + std::to_string(step) + "}}\n";
  };
  const TrainingLog log =
      parsed(event("global_batch_size", "128", 1, 0) + event("block_start", "\"training_step\"", 1000, 0) +
             event("block_stop", "\"training_step\"", 31000, 100) +
             event("block_start", "\"validation_step\"", 31000, 100) +
             event("block_stop", "\"validation_step\"", 91000, 101) + ":::MLLOG {\"torn\": \n");
  EXPECT_THAT(times_of(log), testing::ElementsAre(0.3));  // 30 s for a hundred steps
  EXPECT_EQ(log.facts.global_batch_size, 128);
}

TEST(TrainingLog, ReadsProgressBarsDrawnOverEachOther) {
  const TrainingLog log = parsed(
      "Downloading:  50%|#####     | 5.0M/10.0M [00:01<00:01, 5.00MB/s]\r\n"
      "  0%|          | 0/1000 [00:00<?, ?it/s]\r  1%|1         | 10/1000 [00:20<30:00,  2.00s/it]\r"
      "  2%|2         | 20/1000 [00:25<10:00,  4.00it/s, loss=3.1]\r");
  EXPECT_EQ(log.software, "Hugging Face Trainer");
  EXPECT_THAT(times_of(log), testing::ElementsAre(2.0, 0.25));
}

TEST(TrainingLog, TellsTheBarOfTrainingFromThatOfEvaluation) {
  const std::string evaluation = "Evaluating:  50%|#####     | 1/2 [00:00<00:00, 50.00it/s]\r";
  EXPECT_THAT(times_of(parsed("  1%|1         | 10/1000 [00:20<30:00,  2.00s/it]\r" + evaluation +
                              "  2%|2         | 20/1000 [00:25<10:00,  4.00it/s]\r")),
              testing::ElementsAre(2.0, 0.25));
  EXPECT_THAT(times_of(parsed("Total optimization steps = 2\n" + evaluation +
                              "Map:  1%|1         | 10/1000 [00:20<30:00,  2.00s/it]\r"
                              "Map:  2%|2         | 20/1000 [00:25<10:00,  4.00it/s]\r")),
              testing::ElementsAre(0.02));
}

TEST(TrainingLog, TakesTheMeanOfARunWhereNothingElseIsPrinted) {
  // 50.0 s x 0.2 steps/s = 10 steps.
  const TrainingLog log = parsed(
      "{'train_runtime': 50.0, 'train_samples_per_second': 6.4, 'train_steps_per_second': 0.2, 'epoch': "
      "1.0}\n");
  EXPECT_THAT(times_of(log), testing::ElementsAre(5.0));
  EXPECT_THAT(log.notes, testing::ElementsAre(HasSubstr("start-up included")));
}

TEST(TrainingLog, SaysWhatItUnderstandsWhenThereIsNothing) {
  try {
    (void)parsed("Hello\nworld\n");
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_THAT(error.diagnostics().front().message, HasSubstr("no step times"));
    EXPECT_THAT(error.diagnostics().front().hint, HasSubstr("CurrSamplesPerSec"));
  }
}

TEST(SteadyStep, LeavesLongTimesAtTheStartOut) {
  const SteadyStep steady = steady_step(
      {Seconds(9), Seconds(2), Seconds(1), Seconds(3), Seconds(1), Seconds(1), Seconds(1), Seconds(1)});
  EXPECT_EQ(steady.warm_up, 2);  // 9 and 2; the 3 in the middle is no warm-up
  EXPECT_EQ(steady.steps, 6);
  EXPECT_EQ(steady.p50, Seconds(1));
  EXPECT_DOUBLE_EQ(steady.p95.value, 2.5);  // 0.95 x 5 = 4.75: three quarters from 1 to 3
}

TEST(SteadyStep, LeavesAtMostHalfOut) {
  const SteadyStep steady = steady_step({Seconds(9), Seconds(8), Seconds(7), Seconds(1)});
  EXPECT_EQ(steady.warm_up, 2);
}

}  // namespace
}  // namespace stepcast
