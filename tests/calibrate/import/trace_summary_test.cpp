// What a small trace of one step or two says; every figure follows from the times written here.
#include "calibrate/import/trace_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/diagnostic.hpp"
#include "base/document.hpp"
#include "calibrate/import/trace_output.hpp"
#include "tests/calibrate/import/trace_fixture.hpp"

namespace stepcast {
namespace {

using testing::Contains;
using testing::HasSubstr;

TraceSummary summary_of(const std::string& text) {
  std::istringstream stream(text);
  return summarise(read_timeline(stream, "x.json"), "x.json");
}

std::string fault(const std::string& text) {
  try {
    (void)summary_of(text);
  } catch (const ScenarioError& error) {
    return error.diagnostics().front().message + " | " + error.diagnostics().front().hint;
  }
  return "no fault";
}

double microseconds_of(Seconds time) { return time.value * 1e6; }

const std::string gemm = "ampere_sgemm_128x64_nn", add = "void at::native::vectorized_elementwise_kernel<4>",
                  all_reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)";
const std::string million_floats =
    "\"Collective name\": \"allreduce\", \"In msg nelems\": 1000000, \"Out msg nelems\": 1000000, \"Group "
    "size\": "
    "2, \"dtype\": \"Float\", \"Process Group Name\": \"0\"";

// Two steps of 1000 us: in the first a product of 100 us and an addition of 50, in the second 200 and 50.
TEST(TraceSummary, KernelsAreSummedByClassAndStep) {
  const TraceSummary summary = summary_of(TraceText()
                                              .step(4, 0, 1000)
                                              .kernel(gemm, 100, 100)
                                              .kernel(add, 200, 50)
                                              .step(5, 1000, 1000)
                                              .kernel(gemm, 1100, 200)
                                              .kernel(add, 1300, 50)
                                              .text());
  ASSERT_EQ(summary.steps.size(), 2u);
  EXPECT_EQ(summary.steps[0].number, 4);
  const auto time = [&](const StepTimes& times, KernelClass kind) {
    return microseconds_of(times.classes[static_cast<std::size_t>(kind)].time);
  };
  EXPECT_DOUBLE_EQ(time(summary.steps[0], KernelClass::gemm), 100);
  EXPECT_DOUBLE_EQ(time(summary.steps[1], KernelClass::gemm), 200);
  EXPECT_DOUBLE_EQ(time(summary.whole, KernelClass::memory_bound), 100);
  EXPECT_DOUBLE_EQ(microseconds_of(summary.whole.duration), 1250);  // 100 to 1350
  EXPECT_EQ(summary.gpu_profile, "h100-sxm");
  EXPECT_EQ(summary.launches, 4);
  EXPECT_DOUBLE_EQ(microseconds_of(summary.launch_median), 5);
  EXPECT_THAT(to_text(summary), HasSubstr("mean of 2 steps of 1.00 ms"));
}

// The queue runs ahead of the GPU: a kernel counts to the step that launched it, not to the one in which it
// ran.
TEST(TraceSummary, AKernelCountsToTheStepThatLaunchedIt) {
  const TraceSummary summary =
      summary_of(TraceText().step(1, 0, 100).kernel(gemm, 150, 40, 7, "", 90).step(2, 100, 100).text());
  EXPECT_EQ(summary.steps[0].classes[0].count, 1);
  EXPECT_EQ(summary.steps[1].classes[0].count, 0);
}

// Gaps of the compute stream: 200 to 300, with a collective from 190 to 260 (60 of it) and a launch that
// returned at 285 (25 more), the rest 15 for something else; the collective was alone for 200 to 260.
TEST(TraceSummary, GapsAreToldApartByWhatTheyWaitedFor) {
  const TraceSummary summary = summary_of(TraceText()
                                              .step(1, 0, 1000)
                                              .kernel(gemm, 100, 100)
                                              .kernel(all_reduce, 190, 70, 20, million_floats)
                                              .kernel(add, 300, 50, 7, "", 280)
                                              .text());
  const StepTimes& step = summary.steps[0];
  EXPECT_NEAR(microseconds_of(step.waiting_for_communication), 60, 1e-9);
  EXPECT_NEAR(microseconds_of(step.waiting_for_launch), 25, 1e-9);
  EXPECT_NEAR(microseconds_of(step.waiting_for_other), 15, 1e-9);
  EXPECT_NEAR(microseconds_of(step.exposed_communication), 60, 1e-9);
}

TEST(TraceSummary, PartsOfAStepFollowTheThreadThatLaunched) {
  const TraceSummary summary =
      summary_of(TraceText()
                     .step(1, 0, 1000)
                     .kernel(gemm, 100, 10, 7, "", 50)
                     .event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 200, 100,
                            "\"Sequence number\": 3", 2)
                     .kernel(gemm, 250, 30, 7, "", 210, 2)
                     .kernel(add, 400, 7, 7, "", 390)
                     .event("user_annotation", "Optimizer.step#AdamW.step", 500, 100)
                     .kernel(add, 520, 4, 7, "", 510)
                     .text());
  const auto part = [&](StepPart one) {
    return microseconds_of(summary.steps[0].parts[static_cast<std::size_t>(one)]);
  };
  EXPECT_NEAR(part(StepPart::forward), 10, 1e-9);
  EXPECT_NEAR(part(StepPart::backward), 30, 1e-9);
  EXPECT_NEAR(part(StepPart::other), 7, 1e-9);  // clipping of gradients, for example
  EXPECT_NEAR(part(StepPart::optimizer), 4, 1e-9);
}

// 4, 1, 2, 3, 5 us: the quartile is the second of five.
TEST(TraceSummary, EqualCollectivesGoTogetherWithTheirQuartile) {
  TraceText trace;
  double start = 100;
  for (const double time : {4, 1, 2, 3, 5}) trace.kernel(all_reduce, start += 100, time, 20, million_floats);
  trace.kernel(all_reduce, 900, 9, 20,
               "\"Collective name\": \"_allgather_base\", \"In msg nelems\": 10, \"Out msg "
               "nelems\": 20, \"Group size\": 2, \"dtype\": \"BFloat16\"");
  const TraceSummary summary = summary_of(trace.text());
  ASSERT_EQ(summary.collectives.size(), 2u);
  const TracedSeries& reduce = summary.collectives[0];
  EXPECT_EQ(reduce.operation, Operation::all_reduce);
  EXPECT_EQ(reduce.size, Bytes(4e6));
  EXPECT_EQ(reduce.ranks, 2);
  EXPECT_EQ(reduce.calls.size(), 5u);
  EXPECT_NEAR(microseconds_of(reduce.lower_quartile), 2, 1e-9);
  EXPECT_NEAR(microseconds_of(reduce.median), 3, 1e-9);
  EXPECT_NEAR(microseconds_of(reduce.exposed), 15, 1e-9);
  EXPECT_EQ(summary.collectives[1].operation, Operation::all_gather);
  EXPECT_EQ(summary.collectives[1].size, Bytes(40));  // the gathered tensor, 20 elements of 2 bytes
}

// Traces before PyTorch 2.2: the size is on the operator that launched the kernel, if shapes were recorded.
TEST(TraceSummary, OldTracesHaveSizesOnTheOperator) {
  const TraceSummary summary =
      summary_of(TraceText()
                     .event("cpu_op", "record_param_comms", 100, 50, "\"Input Dims\": [[1024, 2]]")
                     .event("user_annotation", "nccl:all_to_all", 101, 40,
                            "\"Input Dims\": [[1024, 2]], \"Input type\": [\"c10::Half\"]")
                     .kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", 200, 10, 20, "", 110)
                     .kernel(all_reduce, 300, 10, 20)
                     .text());
  ASSERT_EQ(summary.collectives.size(), 2u);
  EXPECT_EQ(summary.collectives[0].operation, Operation::all_to_all);
  EXPECT_EQ(summary.collectives[0].size, Bytes(4096));
  EXPECT_EQ(summary.collectives[1].size, std::nullopt);
  EXPECT_THAT(summary.notes, Contains(HasSubstr("1 collectives without a size")));
}

// 64 MiB in 5 ms: 13.4 GB/s. The small one is start-up alone.
TEST(TraceSummary, CopiesHaveTheRateOfLargeOnes) {
  const TraceSummary summary = summary_of(
      TraceText()
          .event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 10, 5000,
                 "\"bytes\": 67108864, \"stream\": 7")
          .event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 6000, 5, "\"bytes\": 64, \"stream\": 7")
          .kernel(gemm, 7000, 10)
          .text());
  ASSERT_EQ(summary.copies.size(), 1u);
  EXPECT_EQ(summary.copies[0].count, 2);
  EXPECT_EQ(summary.copies[0].large, 1);
  EXPECT_NEAR(summary.copies[0].large_rate.value, 67108864 / 5e-3, 1);
}

// (128 x 256)(256 x 64), the second operand lying column by column, as a weight of 64 x 256 does.
TEST(TraceSummary, ProductsHaveTheirShapesAndOrder) {
  const std::string shapes =
      "\"Input Dims\": [[64], [128, 256], [256, 64]], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", "
      "\"c10::BFloat16\"]";
  const auto product = [&](const std::string& extra, const std::string& kernel) {
    const TraceSummary summary = summary_of(TraceText()
                                                .event("cpu_op", "aten::addmm", 80, 30, shapes + extra)
                                                .kernel(kernel, 100, 40, 7, "", 90)
                                                .kernel("splitKreduce_kernel", 140, 10, 7, "", 95)
                                                .text());
    EXPECT_EQ(summary.products.size(), 1u);
    return summary.products.at(0);
  };
  const ProductSeries strided =
      product(", \"Input Strides\": [[1], [256, 1], [1, 256]]", "nvjet_without_letters");
  EXPECT_EQ(strided.dtype, Dtype::bf16);
  EXPECT_EQ(strided.rows, 128);
  EXPECT_EQ(strided.columns, 64);
  EXPECT_EQ(strided.depth, 256);
  EXPECT_EQ(strided.layout, "nt");
  EXPECT_NEAR(microseconds_of(strided.median), 50, 1e-9);
  EXPECT_EQ(product("", "ampere_bf16_s16816gemm_128x64_tn").layout, "nt");
  EXPECT_EQ(product("", "gemm_of_somebody").layout, "");
}

TEST(TraceSummary, WhatHasNoKernelsSaysWhatItIs) {
  EXPECT_THAT(fault(TraceText().event("cpu_op", "aten::mm", 1, 2).text()),
              HasSubstr("ProfilerActivity.CUDA"));
  EXPECT_THAT(fault(TraceText().event("cuda_profiler_range", "k", 1, 2).text()),
              HasSubstr("hardware counters"));
  EXPECT_THAT(fault(R"({"schema": "1.1.1-chakra.0.0.4", "nodes": []})"),
              testing::AllOf(HasSubstr("execution trace"), HasSubstr("1.1.1-chakra"),
                             HasSubstr("export_chrome_trace")));
  EXPECT_THAT(fault("{\"a\": 1}"), HasSubstr("no list of events"));
  EXPECT_THAT(fault("{\"traceEvents\": []}"), HasSubstr("0 events"));
  EXPECT_THAT(fault("\x01\x02"), HasSubstr("no trace"));
}

TEST(TraceSummary, ATornTraceSaysHowFarItWasRead) {
  const std::string text = TraceText().kernel(gemm, 100, 10).kernel(gemm, 200, 10).text();
  const TraceSummary summary = summary_of(text.substr(0, text.size() - 30));
  EXPECT_THAT(summary.notes, Contains(HasSubstr("read up to byte " + std::to_string(text.size() - 30))));
  EXPECT_THAT(summary.notes, Contains(HasSubstr("3 events")));
}

TEST(TraceSummary, ReadingAFileCanBeEndedAndSaysHowFarItIs) {
  TraceText trace;
  for (int i = 0; i < 20000; ++i) trace.kernel(gemm, 100 * i, 10);
  const auto path =
      std::filesystem::temp_directory_path() / ("stepcast-trace-" + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << trace.text();
  const std::uint64_t size = std::filesystem::file_size(path);
  int told = 0;
  EXPECT_THROW((void)read_timeline(path.string(),
                                   [&](std::uint64_t read, std::uint64_t of) {
                                     ++told;
                                     EXPECT_GT(read, 0u);
                                     EXPECT_LE(read, of);
                                     EXPECT_EQ(of, size);
                                     return false;
                                   }),
               Interrupted);
  EXPECT_EQ(told, 1);
  std::filesystem::remove(path);
}

TEST(TraceSummary, JsonHoldsTheSameFigures) {
  const TraceSummary summary =
      summary_of(TraceText().step(1, 0, 1000).kernel(gemm, 100, 100).kernel(all_reduce, 300, 10, 20).text());
  const Value json = parse_json(to_json({summary}), "json");
  EXPECT_EQ(json.find("schema")->string, "stepcast.trace/1");
  const Value& trace = json.find("traces")->array.at(0);
  EXPECT_EQ(trace.find("gpu")->string, "NVIDIA H100 80GB HBM3");
  EXPECT_NEAR(trace.find("steps")->array.at(0).find("classes")->find("gemm")->find("time_s")->real, 100e-6,
              1e-12);
  EXPECT_EQ(trace.find("collectives")->array.at(0).find("bytes")->kind, Value::Kind::null);
}

// ---- traces of real runs ----------------------------------------------------------------------------------

struct Expected {
  const char* file;
  std::uint64_t events;
  std::size_t steps;
  std::int64_t kernels, copies, collectives;  ///< kernels: all but copies and collectives
  std::size_t products;                       ///< distinct shapes
};

class TraceSpecimens : public testing::TestWithParam<Expected> {};

TEST_P(TraceSpecimens, AreReadWhole) {
  const Expected& expected = GetParam();
  const auto path = std::filesystem::path(STEPCAST_SOURCE_DIR "/../shared/formats") / expected.file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no trace " << path;
  const TraceSummary summary = summarise(read_timeline(path.string()), path.string());
  EXPECT_EQ(summary.facts.damage, "");
  EXPECT_EQ(summary.facts.events, expected.events);
  EXPECT_EQ(summary.steps.size(), expected.steps);
  std::int64_t kernels = 0;
  for (int i = 0; i < kernel_classes; ++i)
    kernels += summary.whole.classes[static_cast<std::size_t>(i)].count;
  const auto count = [&](KernelClass kind) {
    return summary.whole.classes[static_cast<std::size_t>(kind)].count;
  };
  EXPECT_EQ(count(KernelClass::copy), expected.copies);
  EXPECT_EQ(count(KernelClass::collective), expected.collectives);
  EXPECT_EQ(kernels - expected.copies - expected.collectives, expected.kernels);
  EXPECT_EQ(summary.products.size(), expected.products);
  EXPECT_LT(count(KernelClass::other), kernels / 50);  // nearly every kernel has a class
}

INSTANTIATE_TEST_SUITE_P(
    Kineto, TraceSpecimens,
    testing::Values(Expected{"profiler-trace/hta-alexnet-critical-path.json.gz", 1408, 0, 79, 19, 0, 0},
                    Expected{"profiler-trace/hta-df-index-resolver.json.gz", 216092, 5, 17350, 2920, 2020, 0},
                    Expected{"profiler-trace/hta-nccl-data.json.gz", 40573, 3, 2679, 1074, 21, 0},
                    Expected{"profiler-trace/hta-sampled-rank0.json.gz", 4855, 2, 1144, 50, 10, 155},
                    Expected{"profiler-trace/hta-sampled-rank1.json.gz", 4720, 2, 1094, 50, 10, 156},
                    Expected{"profiler-trace/hta-trace-diff-control.json.gz", 109123, 6, 8508, 882, 60, 142},
                    Expected{"profiler-trace/hta-trace-diff-test.json.gz", 105167, 6, 9812, 5756, 64, 22},
                    Expected{"chakra-et/param-resnet-kineto.json.gz", 111631, 0, 9628, 485, 0, 0}),
    [](const auto& specimen) {
      std::string name = specimen.param.file;
      for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      return name;
    });

TEST(TraceSpecimens, WhatIsNoTimelineOfAGpuSaysSo) {
  const std::filesystem::path folder(STEPCAST_SOURCE_DIR "/../shared/formats");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no traces";
  const std::pair<const char*, const char*> known[] = {
      {"profiler-trace/hta-cupti-counters.json.gz", "hardware counters of 77 kernels"},
      {"profiler-trace/hta-rank-non-gpu.json.gz", "a trace of a CPU alone"},
      {"profiler-trace/hta-simple-add-et.json.gz", "execution trace"},
      {"chakra-et/param-resnet-1gpu-et-103.json.gz", "execution trace"},
      {"chakra-et/astra-ring-allreduce-rank0.et", "no trace of the PyTorch profiler"}};
  for (const auto& [file, message] : known) {
    try {
      (void)summarise(read_timeline((folder / file).string()), file);
      FAIL() << file;
    } catch (const ScenarioError& error) {
      EXPECT_THAT(error.diagnostics().front().message, HasSubstr(message));
      EXPECT_NE(error.diagnostics().front().hint, "");
    }
  }
}

}  // namespace
}  // namespace stepcast
