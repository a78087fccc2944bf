#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "base/document.hpp"
#include "models/build_model.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

/// A small question, read as a user's file would be.
ScenarioFile question(const std::vector<Override>& overrides = {}) {
  const std::string path = testing::TempDir() + "/predictor_test.toml";
  std::ofstream(path) << R"(title = "small"
[model]
preset = "gpt2"
sequence_length = 1024
[cluster]
nodes = 2
node = "dgx-a100-80g"
fabric = "infiniband-200g"
[training]
strategy = "ddp"
micro_batch_size = 4
gradient_accumulation_steps = 2
)";
  return load_scenario(path, overrides);
}

Report answer(const std::vector<Override>& overrides, RunOptions options = {}) {
  return run(question(overrides), {}, options);
}

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
    EXPECT_NEAR(exposed.value, point.breakdown.exposed_communication.value, 1e-9 * point.step_time.value);
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
  const Report report = run(file, {}, {});
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
    const double flops = point.global_batch_size * (forward_flops(model) + backward_flops(model)).value;
    EXPECT_NEAR(*point.mfu * peak * point.step_time.value * point.gpus / flops, 1, 1e-9);
  }
  EXPECT_NEAR(*report.points[0].hfu / *report.points[0].mfu, 1, 1e-12);
  EXPECT_GT(*report.points[1].hfu / *report.points[1].mfu, 1.2);  // full recomputation: 4/3 of the blocks
}

TEST(Run, OneSizeAskedIsComparedWithOneNodeThatIsNotAmongThePoints) {
  const Report report = answer({});
  ASSERT_EQ(report.points.size(), 1U);
  const PointReport& point = report.points[0];
  EXPECT_EQ(point.gpus, 16);
  ASSERT_TRUE(point.scaling_efficiency);
  EXPECT_EQ(point.baseline_gpus, 8);
  ASSERT_EQ(point.baseline.size(), 1U);
  EXPECT_EQ(point.baseline[0].first, "cluster.nodes");
  EXPECT_EQ(point.baseline[0].second.integer, 1);
  const Report one = answer({{"cluster.nodes", "1"}});
  EXPECT_NEAR(*point.scaling_efficiency, (point.samples_per_s / 16) / (one.points[0].samples_per_s / 8),
              1e-12);
  EXPECT_EQ(one.points[0].scaling_efficiency, 1.0);
}

TEST(Run, SweptSizesAreComparedWithTheSmallestThatWasAskedFor) {
  const Report report = answer({{"cluster.nodes", "4,2"}, {"training.strategy", "ddp,fsdp"}});
  ASSERT_EQ(report.points.size(), 4U);
  // Cross product, last key fastest: (4, ddp) (4, fsdp) (2, ddp) (2, fsdp).
  EXPECT_EQ(report.points[1].gpus, 32);
  EXPECT_EQ(report.points[1].strategy, "fsdp");
  EXPECT_EQ(report.points[2].gpus, 16);
  EXPECT_EQ(report.points[2].strategy, "ddp");
  for (const PointReport& point : report.points) EXPECT_EQ(point.baseline_gpus, 16);
  EXPECT_EQ(report.points[2].scaling_efficiency, 1.0);
  EXPECT_NEAR(*report.points[1].scaling_efficiency,
              (report.points[1].samples_per_s / 32) / (report.points[3].samples_per_s / 16), 1e-12);
}

// 2 nodes: 16 GPUs x 4 x 2 = 128 samples. 4 nodes at 128 have 4 each: one accumulation step, which is asked
// as well.
TEST(Run, StrongScalingIsThePointWithFewerAccumulationSteps) {
  const Report report = answer({{"cluster.nodes", "2,4"}, {"training.gradient_accumulation_steps", "1,2"}});
  ASSERT_EQ(report.points.size(), 4U);
  const PointReport& small = report.points[1];   // 2 nodes, 2 steps
  const PointReport& strong = report.points[2];  // 4 nodes, 1 step
  const PointReport& large = report.points[3];   // 4 nodes, 2 steps
  EXPECT_EQ(strong.global_batch_size, small.global_batch_size);
  ASSERT_TRUE(large.strong_efficiency);
  EXPECT_NEAR(*large.strong_efficiency, (strong.samples_per_s / 32) / (small.samples_per_s / 16), 1e-12);
  EXPECT_EQ(large.weak_efficiency, large.scaling_efficiency);
}

TEST(Run, TheResultDoesNotDependOnTheNumberOfThreads) {
  const std::vector<Override> sweep = {{"cluster.nodes", "1,2,3"}, {"training.strategy", "ddp,zero1,fsdp"}};
  RunOptions one, two;
  one.jobs = 1;
  two.jobs = 2;
  EXPECT_EQ(to_json(answer(sweep, one)), to_json(answer(sweep, two)));
}

TEST(Run, UnfoldedGivesTheSameStepTime) {
  RunOptions unfolded;
  unfolded.unfolded = true;
  for (const char* strategy : {"ddp", "fsdp"}) {
    const Report folded = answer({{"training.strategy", strategy}});
    const Report full = answer({{"training.strategy", strategy}}, unfolded);
    EXPECT_NEAR(full.points[0].step_time / folded.points[0].step_time, 1, 1e-6) << strategy;
  }
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

TEST(Run, CancellingThrowsInterrupted) {
  const std::atomic<bool> cancel{true};
  RunOptions options;
  options.cancel = &cancel;
  EXPECT_THROW((void)answer({}, options), Interrupted);
}

}  // namespace
}  // namespace stepcast
