#include "calibrate/measure/scenario_needs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "fake_machine.hpp"

namespace stepcast {
namespace {

using Kind = Measurement::Kind;

/// gpt2 with 128 tokens: hidden 768, 12 heads of 64, vocabulary 50257.
std::vector<Measurement> needs(int ranks, const std::string& training) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("stepcast-needs-" + std::to_string(::getpid()) + ".toml");
  std::ofstream(file) << "[model]\npreset = \"gpt2\"\nsequence_length = 128\n[cluster]\nnodes = 2\nnode = "
                         "\"cpu-host\"\nfabric = \"ethernet-1g\"\n[training]\nsoftware = "
                         "\"stepcast-trainer\"\nstrategy = \"ddp\"\nprecision = \"fp32\"\n"
                      << training;
  DeviceFacts host;
  host.profile_name = "cpu-host";
  host.dtypes = {Dtype::fp32};
  const auto found = scenario_needs(load_scenario(file, {}), host, spread_ranks(0, ranks));
  std::filesystem::remove(file);
  return found;
}

bool has(const std::vector<Measurement>& needs, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  return std::any_of(needs.begin(), needs.end(), [&](const Measurement& what) {
    return what.kind == Kind::gemm && what.rows == rows && what.columns == columns && what.depth == depth;
  });
}

long count(const std::vector<Measurement>& needs, Kind kind) {
  return std::count_if(needs.begin(), needs.end(),
                       [&](const Measurement& what) { return what.kind == kind; });
}

// Two sequences of 128 tokens: 256 rows. Five linear layers (qkv, output, up, down, logits), three products
// each.
TEST(ScenarioNeeds, AreTheProductsOfTheModelAtItsBatchSizeOnceEach) {
  const auto found = needs(1, "micro_batch_size = 2\n");
  EXPECT_EQ(count(found, Kind::gemm), 15);
  EXPECT_TRUE(has(found, 256, 2304, 768));   // qkv
  EXPECT_TRUE(has(found, 768, 3072, 256));   // weight gradient of down
  EXPECT_TRUE(has(found, 256, 50257, 768));  // logits
  EXPECT_EQ(count(found, Kind::attention), 2);
  EXPECT_EQ(count(found, Kind::collective), 0);
}

TEST(ScenarioNeeds, CoverAllPointsOfASweep) {
  const auto found = needs(1, "[what_if]\n\"training.micro_batch_size\" = [1, 4]\n");
  EXPECT_TRUE(has(found, 128, 2304, 768));
  EXPECT_TRUE(has(found, 512, 2304, 768));
  EXPECT_EQ(count(found, Kind::attention), 4);
}

// 124.4 M parameters in fp32: buckets of 25 MiB and more, all 498 MB together.
TEST(ScenarioNeeds, AreTheSizesOfItsCollectivesOnTheRanksAtHand) {
  const auto found = needs(2, "");
  ASSERT_GT(count(found, Kind::collective), 2);
  double largest = 0;
  for (const Measurement& what : found) {
    if (what.kind != Kind::collective) continue;
    EXPECT_EQ(what.collective, Operation::all_reduce);
    EXPECT_EQ(what.ranks.size(), 2U);
    EXPECT_EQ(what.nodes, 2);
    largest = std::max(largest, what.bytes.value);
  }
  EXPECT_GT(largest, 25.0 * 1024 * 1024);
}

TEST(ScenarioNeeds, ComeFirstInThePlan) {
  MeasuringOptions options;
  options.wanted = needs(1, "");
  DeviceFacts host;
  host.profile_name = "cpu-host";
  host.memory_capacity = gibibytes(4);
  const auto plan = measuring_plan(host, spread_ranks(0, 1), options);
  EXPECT_EQ(plan.front().what, options.wanted.front());
}

}  // namespace
}  // namespace stepcast
