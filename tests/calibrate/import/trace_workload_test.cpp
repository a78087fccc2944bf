// Measured layers out of traces; the times of the layers follow from those of the kernels written here.
#include "calibrate/import/trace_workload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <sstream>

#include "base/diagnostic.hpp"
#include "models/workload.hpp"
#include "tests/calibrate/import/trace_fixture.hpp"

namespace stepcast {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TraceTimeline timeline_of(const std::string& text) {
  std::istringstream stream(text);
  return read_timeline(stream, "x.json");
}

/// One micro-batch from `start` on, in microseconds: an embedding, a ReLU without parameters, a linear layer,
/// a loss; then their backward on thread 2. The linear layer's product takes `time`.
void micro_batch(TraceText& trace, double start, double time, int sequence) {
  const auto number = [](int value) { return "\"Sequence number\": " + std::to_string(value); };
  trace
      .event("cpu_op", "aten::embedding", start, 20,
             number(sequence) +
                 ", \"Input Dims\": [[1000, 64], [8, 16]], \"Input type\": [\"float\", \"long int\"]")
      .kernel("indexSelect", start + 50, 3, 7, "", start + 5)
      .event("cpu_op", "aten::relu", start + 25, 5, number(sequence + 1))
      .kernel("relu", start + 60, 2, 7, "", start + 26)
      .event("python_function", "nn.Module: Linear_0", start + 28, 30)
      .event("cpu_op", "aten::linear", start + 30, 20,
             number(sequence + 2) +
                 ", \"Input Dims\": [[8, 16, 64], [32, 64], [32]], \"Input type\": [\"float\", \"float\", "
                 "\"float\"]")
      .event("cpu_op", "aten::addmm", start + 35, 10,
             number(sequence + 3) +
                 ", \"Input Dims\": [[32], [128, 64], [64, 32]], \"Input type\": [\"float\", \"float\", "
                 "\"float\"]")
      .kernel("ampere_sgemm_128x64_tn", start + 70, time, 7, "", start + 36)
      .kernel("nll_loss", start + 200, 1, 7, "", start + 60)
      // The loss's backward belongs to the last layer; the ReLU's to the layer after it.
      .event("cpu_op", "autograd::engine::evaluate_function: NllLossBackward0", start + 300, 10,
             number(sequence + 4), 2)
      .kernel("nll_loss_backward", start + 305, 1, 7, "", start + 301, 2)
      .event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", start + 320, 10,
             number(sequence + 3), 2)
      .kernel("ampere_sgemm_128x64_nn", start + 330, 2 * time, 7, "", start + 321, 2)
      .event("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", start + 335, 5,
             "", 2)
      .kernel("add", start + 500, 4, 7, "", start + 336, 2)
      .event("cpu_op", "autograd::engine::evaluate_function: ReluBackward0", start + 350, 10,
             number(sequence + 1), 2)
      .kernel("relu_backward", start + 510, 5, 7, "", start + 351, 2)
      .event("cpu_op", "autograd::engine::evaluate_function: EmbeddingBackward0", start + 370, 10,
             number(sequence), 2)
      .kernel("embedding_backward", start + 520, 6, 7, "", start + 371, 2)
      .kernel("ncclDevKernel_AllReduce", start + 530, 100, 20, "", start + 380, 2);
}

/// Two micro-batches of one step, of 40 and 60 us, and an optimizer of 9 us with 1 us of clipping before it.
std::string whole_step() {
  TraceText trace;
  trace.step(1, 0, 5000);
  micro_batch(trace, 100, 40, 10);
  micro_batch(trace, 1100, 60, 20);
  trace.kernel("clip", 2500, 1, 7, "", 2000)
      .event("user_annotation", "Optimizer.step#AdamW.step", 3000, 100)
      .kernel("multi_tensor_apply", 3050, 9, 7, "", 3010);
  return trace.text();
}

double microseconds_of(const std::optional<Seconds>& time) { return time.value_or(Seconds(-1)).value * 1e6; }

TEST(TraceWorkload, LayersAreOperatorsWithParameters) {
  const TraceWorkload workload = workload_of(timeline_of(whole_step()), "x.json", std::nullopt);
  EXPECT_EQ(workload.micro_batches, 2u);
  const Model model = read_workload(workload.toml, "w.toml");
  ASSERT_EQ(model.layers.size(), 2u);
  EXPECT_EQ(model.layers[0].name, "embedding0");
  EXPECT_EQ(model.layers[1].name, "Linear_0");
  ASSERT_EQ(model.layers[0].parameters.size(), 1u);
  EXPECT_THAT(model.layers[0].parameters[0].shape, ElementsAre(1000, 64));
  ASSERT_EQ(model.layers[1].parameters.size(), 2u);
  EXPECT_THAT(model.layers[1].parameters[0].shape, ElementsAre(32, 64));
  EXPECT_THAT(model.layers[1].parameters[1].shape, ElementsAre(32));
  EXPECT_EQ(model.measured->samples_per_micro_batch, 8);
  EXPECT_EQ(model.measured->precision, "fp32");
}

// Means of both micro-batches. Forward: embedding 3; linear 2 of the ReLU, (40 + 60) / 2 of the product, 1 of
// the loss. Backward: linear 1 of the loss, 2 x 50 of the product, 4 of the accumulation, 5 of the ReLU;
// embedding 6.
TEST(TraceWorkload, TimesGoToTheLayerThatTheyBelongTo) {
  const Model model =
      read_workload(workload_of(timeline_of(whole_step()), "x.json", std::nullopt).toml, "w.toml");
  EXPECT_NEAR(microseconds_of(model.layers.at(0).forward_time), 3, 1e-3);
  EXPECT_NEAR(microseconds_of(model.layers.at(1).forward_time), 2 + 50 + 1, 1e-3);
  EXPECT_NEAR(microseconds_of(model.layers.at(0).backward_time), 6, 1e-3);
  EXPECT_NEAR(microseconds_of(model.layers.at(1).backward_time), 1 + 100 + 4 + 5, 1e-3);
  EXPECT_NEAR(microseconds_of(model.measured->optimizer_time), 9 + 1, 1e-3);
}

/// Three steps of a micro-batch of 40, 60 and 100 us and an optimizer of 9 us; one event a line.
std::string three_steps() {
  TraceText trace;
  for (int i = 0; i < 3; ++i) {
    const double start = 5000.0 * i, times[] = {40, 60, 100};
    trace.step(i, start, 4900);
    micro_batch(trace, start + 100, times[i], 10 + 10 * i);
    trace.event("user_annotation", "Optimizer.step#AdamW.step", start + 3000, 100)
        .kernel("multi_tensor_apply", start + 3050, 9, 7, "", start + 3010);
  }
  return trace.text();
}

/// The text without its event number `count` of that name, nor the launch of it, which is the line before.
std::string without_kernel(const std::string& text, const std::string& name, int count, bool launch = true) {
  std::size_t place = 0;
  for (int i = 0; i <= count; ++i) place = text.find("\"" + name + "\"", place + 1);
  const std::size_t end = text.find('\n', place) + 1;
  std::size_t begin = text.rfind('\n', place);
  if (launch) begin = text.rfind('\n', begin - 1);
  return text.substr(0, begin + 1) + text.substr(end);
}

/// Without what follows the last event, and half of that.
std::string cut_off(const std::string& text) { return text.substr(0, text.rfind(",\n") + 20); }

TEST(TraceWorkload, OfATraceThatIsCutOffOnlyWholeMicroBatchesCount) {
  const std::string whole = three_steps();
  // The third step's product (100 us) is lost, with its launch or without: means of 40 and 60 stay.
  for (const bool launch : {true, false}) {
    const std::string lossy = without_kernel(whole, "ampere_sgemm_128x64_nn", 2, launch);
    const TraceWorkload workload = workload_of(timeline_of(cut_off(lossy)), "x.json", std::nullopt);
    EXPECT_EQ(workload.micro_batches, 2u);
    EXPECT_THAT(workload.notes,
                Contains(testing::AllOf(HasSubstr("ends in the middle"), HasSubstr("2 of 3 micro-batches"))));
    const Model model = read_workload(workload.toml, "w.toml");
    EXPECT_NEAR(microseconds_of(model.layers.at(1).forward_time), 2 + 50 + 1, 1e-3);
    EXPECT_NEAR(microseconds_of(model.layers.at(1).backward_time), 1 + 100 + 4 + 5, 1e-3);
    // The cut took the third step's optimizer; the mean is of the two that are there.
    EXPECT_NEAR(microseconds_of(model.measured->optimizer_time), 9, 1e-3);
  }
  // In each micro-batch another kernel is lost.
  std::string lossy = without_kernel(whole, "ampere_sgemm_128x64_nn", 2);
  lossy = without_kernel(lossy, "relu_backward", 1);
  try {
    (void)workload_of(timeline_of(cut_off(lossy)), "x.json", std::nullopt);
    FAIL() << "no micro-batch is known to be whole";
  } catch (const ScenarioError& error) {
    const Diagnostic& fault = error.diagnostics().front();
    EXPECT_THAT(fault.message, HasSubstr("no two of 3 micro-batches have the same kernels"));
    EXPECT_GT(fault.place.line, 50u);  // three steps are more than fifty events, one a line
  }
}

TEST(TraceWorkload, ATraceThatIsCutOffBehindItsEventsLacksNone) {
  const std::string text = three_steps();
  const TraceWorkload workload =
      workload_of(timeline_of(text.substr(0, text.size() - 5)), "x.json", std::nullopt);
  EXPECT_EQ(workload.micro_batches, 3u);
  EXPECT_THAT(workload.notes, Contains(HasSubstr("ends in the middle")));
}

TEST(TraceWorkload, SamplesCanBeGiven) {
  const TraceWorkload workload = workload_of(timeline_of(whole_step()), "x.json", 16);
  EXPECT_EQ(read_workload(workload.toml, "w.toml").measured->samples_per_micro_batch, 16);
  EXPECT_THAT(workload.notes, testing::Not(Contains(HasSubstr("samples_per_micro_batch"))));
}

TEST(TraceWorkload, WhatIsMissingIsSaidWithHowToRecordIt) {
  const auto fault = [](const std::string& text) {
    try {
      (void)workload_of(timeline_of(text), "x.json", std::nullopt);
    } catch (const ScenarioError& error) {
      return error.diagnostics().front().message + " | " + error.diagnostics().front().hint;
    }
    return std::string("no fault");
  };
  EXPECT_THAT(fault(TraceText().kernel("gemm", 100, 10).text()), HasSubstr("no backward"));
  const std::string backward = "autograd::engine::evaluate_function: AddmmBackward0";
  // 10 us forward and 20 us backward in one step: figures for layers written by hand.
  EXPECT_THAT(
      fault(TraceText()
                .step(1, 0, 1000)
                .kernel("gemm", 100, 10, 7, "", 50)
                .event("cpu_op", backward, 200, 50, "", 2)
                .kernel("gemm", 250, 20, 7, "", 210, 2)
                .text()),
      testing::AllOf(HasSubstr("record_shapes=True"), HasSubstr("forward 10.0 us, backward 20.0 us")));
  EXPECT_THAT(fault(TraceText()
                        .event("cpu_op", "aten::relu", 10, 5, "\"Input Dims\": [[1]]")
                        .event("cpu_op", backward, 200, 50, "", 2)
                        .kernel("gemm", 250, 20, 7, "", 210, 2)
                        .text()),
              HasSubstr("no operator with parameters"));
}

TEST(TraceWorkload, DamagedTracesGiveAFaultOrAFileThatLoads) {
  const std::string text = whole_step();
  std::mt19937 random(1);  // NOLINT: the same cases each time
  int loaded = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = text;
    for (int flips = 0; flips < 8; ++flips) {
      const char digits[] = "0123456789-.e\"[]{},:x";
      // Every other text gets wrong numbers alone and stays JSON.
      const std::size_t place = random() % damaged.size();
      if (i % 2 == 0) {
        damaged[place] = digits[random() % (sizeof digits - 1)];
      } else if (damaged[place] >= '0' && damaged[place] <= '9') {
        damaged[place] = digits[random() % 10];
      }
    }
    if (i % 6 == 0) damaged.resize(random() % damaged.size());
    try {
      const TraceWorkload workload = workload_of(timeline_of(damaged), "x.json", std::nullopt);
      (void)read_workload(workload.toml, "w.toml");
      ++loaded;
    } catch (const ScenarioError& error) {
      EXPECT_EQ(error.diagnostics().front().place.file, "x.json") << error.what();
    }
  }
  EXPECT_GT(loaded, 500);
}

TEST(TraceWorkload, SpecimensWithShapesBecomeWorkloads) {
  const std::filesystem::path folder(STEPCAST_SOURCE_DIR "/../shared/formats/profiler-trace");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no traces";
  struct Expected {
    const char* file;
    std::size_t layers, micro_batches;
  };
  for (const Expected& expected :
       {Expected{"hta-trace-diff-control.json.gz", 128, 6}, Expected{"hta-trace-diff-test.json.gz", 45, 6}}) {
    const std::string file = (folder / expected.file).string();
    const TraceWorkload workload = workload_of(read_timeline(file), file, std::nullopt);
    EXPECT_EQ(workload.micro_batches, expected.micro_batches);
    const Model model = read_workload(workload.toml, "w.toml");
    EXPECT_EQ(model.layers.size(), expected.layers);
    EXPECT_EQ(model.measured->samples_per_micro_batch, 1024);
    Seconds forward;
    for (const Layer& layer : model.layers) forward += *layer.forward_time;
    EXPECT_GT(forward, Seconds(5e-3));
  }
}

}  // namespace
}  // namespace stepcast
