// Which figures of a profile a trace gives, and what is asked for instead of guessed.
#include "calibrate/import/trace_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/document.hpp"
#include "tests/calibrate/import/trace_fixture.hpp"

namespace stepcast {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TraceSummary summary_of(const TraceText& trace, int rank = 0,
                        const std::string& gpu = "NVIDIA H100 80GB HBM3") {
  std::istringstream stream(trace.text(rank, 2, gpu));
  const std::string file = "rank" + std::to_string(rank) + ".json";
  return summarise(read_timeline(stream, file), file);
}

TraceContext on_two_nodes() {
  TraceContext context;
  context.cluster.nodes = 2;
  context.cluster.fabric = "infiniband-400g";
  context.cluster.link_rate = gigabits_per_second(400);
  return context;
}

const std::string million_floats =
    "\"Collective name\": \"allreduce\", \"In msg nelems\": 1000000, \"Out msg nelems\": 1000000, \"Group "
    "size\": "
    "2, \"dtype\": \"Float\"";
const std::string all_reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

/// All-reduces of one step, with the times that one rank saw.
TraceText reduces(const std::vector<double>& times) {
  TraceText trace;
  trace.step(7, 0, 10000);
  double start = 100;
  for (const double time : times) trace.kernel(all_reduce, start += 1000, time, 20, million_floats);
  return trace;
}

/// The points of the only [[collective]].
std::vector<std::string> point_of(const TraceProfile& profile) {
  const Value document = parse_toml(profile.sections, "p.toml");
  const Value* sections = document.find("collective");
  if (sections == nullptr || sections->array.size() != 1) return {};
  std::vector<std::string> texts;
  for (const Value& one : sections->array[0].find("points")->array.at(0).array) texts.push_back(one.string);
  return texts;
}

// Rank 0 is late in the first call and rank 1 in the second: of 50 | 20, 20 | 80 and 30 | 30 us the last
// start to the common end takes 20, 20 and 30 us; their median is 20.
TEST(TraceProfile, SeveralRanksTellACollectiveFromItsWait) {
  const std::vector<TraceSummary> traces = {summary_of(reduces({50, 20, 30}), 0),
                                            summary_of(reduces({20, 80, 30}), 1)};
  const TraceProfile profile = profile_of(traces, on_two_nodes());
  EXPECT_THAT(point_of(profile), testing::ElementsAre("4000000 B", "20 us"));
  EXPECT_THAT(profile.sections, HasSubstr("from the last of 2 ranks' starts"));
  EXPECT_THAT(profile.sections, HasSubstr("nccl_version = \"2.27.7\""));
  EXPECT_THAT(profile.sections, HasSubstr("link_rate = \"400 Gb/s\""));
}

// 10, 20, 30, 40, 50 us: the second.
TEST(TraceProfile, OneRankGivesTheLowerQuartileAndSaysSo) {
  const TraceProfile profile = profile_of({summary_of(reduces({50, 20, 40, 10, 30}))}, on_two_nodes());
  EXPECT_THAT(point_of(profile), testing::ElementsAre("4000000 B", "20 us"));
  EXPECT_THAT(profile.sections, HasSubstr("lower quartile of equal calls of one rank"));
}

TEST(TraceProfile, CollectivesWithoutAClusterAreLeftOutWithTheOptionsName) {
  const std::vector<TraceSummary> traces = {summary_of(reduces({10}))};
  const TraceProfile nothing = profile_of(traces, {});
  EXPECT_THAT(nothing.sections, Not(HasSubstr("[[collective]]")));
  EXPECT_THAT(nothing.notes, Contains(HasSubstr("--nodes")));
  TraceContext context;
  context.cluster.nodes = 2;
  EXPECT_THAT(profile_of(traces, context).notes, Contains(HasSubstr("--fabric")));
  context.cluster.nodes = 8;  // of a group of 2 ranks
  EXPECT_THAT(profile_of(traces, context).notes, Contains(HasSubstr("do not fill --nodes 8 evenly")));
  context.cluster.nodes = 1;
  EXPECT_THAT(profile_of(traces, context).notes, Contains(HasSubstr("--node ")));
  context.cluster.node = "hgx-h100";
  EXPECT_THAT(profile_of(traces, context).sections, HasSubstr("fabric = \"hgx-h100\""));
}

// Ranks 4 and 12 of nodes with 8 GPUs are on two nodes.
TEST(TraceProfile, ListedRanksAndGpusPerNodeTellTheNodes) {
  TraceText trace;
  trace.kernel(all_reduce, 100, 10, 20, million_floats + ", \"Process Group Ranks\": \"[4, 12]\"");
  TraceContext context = on_two_nodes();
  context.cluster.nodes.reset();
  context.cluster.gpus_per_node = 8;
  EXPECT_THAT(profile_of({summary_of(trace)}, context).sections, HasSubstr("nodes = 2"));
}

TEST(TraceProfile, CopiesAndLaunchesBecomeFiguresWithTheirOrigin) {
  TraceText trace;
  trace.kernel("gemm", 7000, 10)
      .event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 10, 9000, "\"bytes\": 67108864")
      .event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 10, 5000, "\"bytes\": 100000000")
      .event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 10, 200, "\"bytes\": 200000000");
  const TraceProfile profile = profile_of({summary_of(trace)}, {});
  const Value document = parse_toml(profile.sections, "p.toml");
  const Value* gpu = document.find("gpu");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->find("name")->string, "h100-sxm");
  EXPECT_EQ(gpu->find("host_link_rate")->find("value")->string, "20 GB/s");  // pinned, 100 MB in 5 ms
  EXPECT_EQ(gpu->find("memory_rate")->find("value")->string, "2000 GB/s");   // 2 x 200 MB in 200 us
  EXPECT_THAT(gpu->find("memory_rate")->find("source")->string, HasSubstr("PyTorch trace rank0.json"));
  EXPECT_EQ(gpu->find("memory_rate")->find("measured_on")->string,
            "NVIDIA H100 80GB HBM3, 2 ranks, NCCL 2.27.7");
  const Value* software = document.find("software");
  EXPECT_EQ(software->find("name")->string, "pytorch-eager");
  EXPECT_EQ(software->find("host_per_kernel")->find("value")->string, "5 us");
  TraceContext named;
  named.software = "deepspeed";
  named.gpu = "h100-pcie";
  EXPECT_THAT(profile_of({summary_of(trace)}, named).sections,
              testing::AllOf(HasSubstr("\"deepspeed\""), HasSubstr("\"h100-pcie\"")));
}

TEST(TraceProfile, ProductsWithShapeAndOrderBecomePoints) {
  const auto mm = [](const std::string& kernel) {
    TraceText trace;
    trace
        .event("cpu_op", "aten::mm", 80, 30,
               "\"Input Dims\": [[128, 256], [256, 64]], \"Input type\": [\"c10::Half\", \"c10::Half\"]")
        .kernel(kernel, 100, 40, 7, "", 90);
    return summary_of(trace);
  };
  const TraceProfile profile = profile_of({mm("ampere_fp16_s16816gemm_128x64_tn")}, {});
  EXPECT_THAT(profile.sections, HasSubstr("[[gemm]]\ndevice = \"h100-sxm\"\ndtype = \"fp16\""));
  EXPECT_THAT(profile.sections, HasSubstr("[128, 64, 256, \"nt\", \"40 us\"]"));
  EXPECT_THAT(profile_of({mm("gemm_of_somebody")}, {}).notes, Contains(HasSubstr("how operands lie")));
}

}  // namespace
}  // namespace stepcast
