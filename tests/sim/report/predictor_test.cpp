#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/document.hpp"
#include "models/build_model.hpp"
#include "tests/sim/report/question.hpp"

namespace stepcast {
namespace {

const char* strategies[] = {"ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp"};

TEST(Predictor, EveryStrategyGivesPartsThatAddUpToTheStepAndMemoryThatAddsUpToThePeak) {
  const Report report = answer({{"training.strategy", "ddp,zero1,zero2,zero3,fsdp,hsdp"}});
  ASSERT_EQ(report.points.size(), std::size(strategies));
  for (const PointReport& point : report.points) {
    SCOPED_TRACE(point.strategy);
    ASSERT_EQ(point.invalid, "");
    EXPECT_GT(point.step_time.value, 0);
    EXPECT_NEAR(point.breakdown.sum() / point.step_time, 1, 1e-9);
    for (const Seconds part :
         {point.breakdown.compute, point.breakdown.exposed_communication, point.breakdown.pipeline_bubble,
          point.breakdown.optimizer, point.breakdown.input, point.breakdown.host}) {
      EXPECT_GE(part.value, 0);
    }
    const MemoryReport& memory = point.memory;
    const Bytes parts = memory.parameters + memory.gradients + memory.optimizer + memory.activations +
                        memory.buffers + memory.framework + memory.slack;
    EXPECT_NEAR(parts / memory.peak(), 1, 1e-12);
    EXPECT_TRUE(memory.fits());
    Seconds exposed;
    for (const CommunicationRow& row : point.communication) {
      exposed += row.exposed;
      EXPECT_GE(row.time.value * (1 + 1e-9), row.exposed.value) << row.operation;
    }
    EXPECT_LE(exposed.value, point.breakdown.exposed_communication.value + 1e-9 * point.step_time.value);
    for (const LinkRow& link : point.links) {
      EXPECT_LE(link.utilization, 1 + 1e-9) << link.name;
      EXPECT_LE(link.busy.value, point.step_time.value * (1 + 1e-9)) << link.name;
    }
  }
}

// I40: mfu * peak * time * n is the model's FLOPs of a step: global batch x (forward + backward) of one
// sample.
TEST(Predictor, MfuIsModelFlopsOverPeakAndNeverAboveOneOrHfu) {
  const ScenarioFile file =
      question({{"training.strategy", "fsdp"}, {"training.activation_checkpointing", "none,full"}});
  const Report report = run(file, {});
  ModelRequest request;
  request.preset = "gpt2";
  request.sequence_length = 1024;
  const Model model = build_model(request, {});
  const Profile profile = load_profile("a100-sxm-80g", "dgx-a100-80g", "pytorch-compiled", {}, {});
  const double peak = profile.gpu.peak.at(Dtype::bf16).value.value;
  ASSERT_EQ(report.points.size(), 2U);
  for (const PointReport& point : report.points) {
    ASSERT_TRUE(point.mfu && point.hfu);
    EXPECT_LE(*point.mfu, 1);
    EXPECT_LE(*point.mfu, *point.hfu * (1 + 1e-12));
    const double flops =
        static_cast<double>(point.global_batch_size) * (forward_flops(model) + backward_flops(model)).value;
    EXPECT_NEAR(*point.mfu * peak * point.step_time.value * point.gpus / flops, 1, 1e-9);
  }
  EXPECT_NEAR(*report.points[0].hfu / *report.points[0].mfu, 1, 1e-12);
  EXPECT_GT(*report.points[1].hfu / *report.points[1].mfu, 1.2);  // full recomputation: 4/3 of the blocks
}

// Sixteen micro-batches, of which few are written out, take as long as the same sixteen all simulated.
TEST(Predictor, RepeatedMicroBatchesGiveWhatAllOfThemGive) {
  for (const char* strategy : {"ddp", "zero1", "zero2", "zero3", "fsdp"}) {
    const ScenarioFile file =
        question({{"training.strategy", strategy}, {"training.gradient_accumulation_steps", "16"}});
    const Scenario scenario = *expand(file).front().scenario;
    Predictor predictor;
    const PointReport point = predictor.predict(scenario);
    const auto [plan, timeline] = predictor.trace(scenario);
    EXPECT_EQ(plan.program.repeated_micro_batches, 0);
    EXPECT_NEAR(static_cast<double>(timeline.step_time) * 1e-12 / point.step_time.value, 1, 1e-3) << strategy;
  }
}

TEST(Trace, IsJsonWithEventsInOrderOnEachThreadAndNamedCollectives) {
  const ScenarioFile file = question({{"training.strategy", "fsdp"}});
  const Scenario scenario = *expand(file).front().scenario;
  Predictor predictor;
  const auto [plan, timeline] = predictor.trace(scenario);
  const Value trace = parse_json(to_chrome_trace(plan, timeline, 8), "trace");
  const Value* events = trace.find("traceEvents");
  ASSERT_NE(events, nullptr);
  std::map<std::pair<std::int64_t, std::int64_t>, double> last;
  int collectives = 0, kernels = 0, names = 0;
  for (const Value& event : events->array) {
    if (event.find("ph")->string == "M") {
      ++names;
      continue;
    }
    ASSERT_EQ(event.find("ph")->string, "X");
    const double begin = event.find("ts")->real, length = event.find("dur")->real;
    EXPECT_GE(begin, 0);
    EXPECT_GE(length, 0);
    auto& before = last[{event.find("pid")->integer, event.find("tid")->integer}];
    EXPECT_GE(begin, before) << event.find("name")->string;
    before = begin;
    if (const Value* bytes = event.find("args")->find("bytes")) {
      ++collectives;
      EXPECT_GT(bytes->real, 0);
      EXPECT_NE(event.find("args")->find("algorithm"), nullptr);
      EXPECT_NE(event.find("args")->find("exposed_us"), nullptr);
    } else {
      ++kernels;
    }
  }
  EXPECT_GE(names, 3);
  EXPECT_GT(collectives, 12);  // at least one all-gather for each of gpt2's 12 blocks
  EXPECT_GT(kernels, 100);
}

// 4 sockets of 1 GB/s are less than a 100 Gb/s line: the step with 16 is told, and is what asking for it
// gives.
TEST(Predictor, TcpTellsTheStepWithTunedSockets) {
  const Report untuned = answer({{"cluster.fabric", "ethernet-100g"}});
  const Report tuned = answer({{"cluster.fabric", "ethernet-100g"}, {"nccl.sockets", "tuned"}});
  ASSERT_TRUE(untuned.points.front().tuned_step_time);
  EXPECT_EQ(*untuned.points.front().tuned_step_time, tuned.points.front().step_time);
  EXPECT_LT(tuned.points.front().step_time, untuned.points.front().step_time);
  EXPECT_NE(warnings_with(untuned.points.front(), "nccl.sockets"), "");
  EXPECT_EQ(warnings_with(tuned.points.front(), "nccl.sockets"), "");
  EXPECT_FALSE(answer({{"cluster.fabric", "ethernet-1g"}}).points.front().tuned_step_time);
}

}  // namespace
}  // namespace stepcast
