// What calibrate writes, the simulator reads back as it was measured.
#include "calibrate/fit/profile_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "sim/cost/cost.hpp"
#include "tests/calibrate/fit/measured_set.hpp"

namespace stepcast {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Profile read_back(const MeasuredSet& set) {
  const auto path =
      std::filesystem::temp_directory_path() / ("stepcast-written-" + std::to_string(getpid()) + ".toml");
  std::ofstream(path) << profile_toml(set);
  Profile profile = load_profile(set.device.profile_name, set.node, "stepcast-trainer", {path.string()},
                                 {"s.toml", 1, 1, 1, ""});
  std::filesystem::remove(path);
  return profile;
}

Operator operator_of(const std::string& name, OperatorKind kind) {
  Operator op;
  op.name = name;
  op.kind = kind;
  return op;
}

/// Irregular times, so that nothing comes out right by chance.
MeasuredSet measured_host() {
  MeasuredSet set = two_hosts();
  set.results = {taken(gemm_of(128, 512, 256, false, true), Seconds(1.234567891e-3)),
                 taken(gemm_of(128, 256, 512, false, false), Seconds(1.111e-3)),
                 taken(gemm_of(512, 256, 128, true, false), Seconds(1.3e-3)),
                 taken(gemm_of(1024, 512, 256, false, true), Seconds(7.7e-3)),
                 taken(kernel_of("norm", 2.0 * 4 * 1000 * 64), Seconds(55.5e-6)),
                 taken(kernel_of("copy", 1e6), Seconds(0.1e-3)),
                 taken(kernel_of("copy", 1e7), Seconds(1.02e-3)),
                 taken(kernel_of("copy", 1e8), Seconds(10.1e-3)),
                 taken(kernel_of("adamw", 28e6), Seconds(6e-3))};
  Measurement attention;
  attention.kind = Measurement::Kind::attention;
  attention.samples = 2;
  attention.heads = 4;
  attention.head_dim = 32;
  attention.length = 128;
  set.results.push_back(taken(attention, Seconds(3.21e-3)));
  for (const double size : {1024.0, 65536.0, 1e6, 16777216.0}) {
    Measured one = taken(collective_of(Operation::all_reduce, size, 2, 2), Seconds(150e-6 + size / 113e6));
    one.host = Seconds(20e-6 + size / 2e9);
    set.results.push_back(one);
  }
  return set;
}

TEST(ProfileToml, TheCostModelReturnsTheMeasuredTimes) {
  const Profile profile = read_back(measured_host());
  EXPECT_THAT(profile.notes, IsEmpty());
  const CostModel model(profile.gpu, profile.software);
  const CostOptions options{.compute = Dtype::fp32, .parameters = Dtype::fp32, .gradients = Dtype::fp32};
  const auto time = [&](const Operator& op, Pass pass, int samples = 1) {
    return model.operator_work(op, pass, samples, options).duration(1, 0).value;
  };
  Operator product = operator_of("mlp.up", OperatorKind::gemm);
  product.gemm = {128, 512, 256, 1, true, true};
  EXPECT_NEAR(time(product, Pass::forward), 1.234567891e-3, 1e-12);
  EXPECT_NEAR(time(product, Pass::backward), 1.111e-3 + 1.3e-3, 1e-12);
  Operator norm = operator_of("mlp.norm", OperatorKind::memory);
  norm.memory.eager_forward = {2.0 * 1000 * 64, 0, 0, 1, 0};
  EXPECT_NEAR(time(norm, Pass::forward), 55.5e-6, 1e-14);
  Operator attention = operator_of("attention.core", OperatorKind::attention);
  attention.attention = {4, 4, 32, 32, 128, 128, 0, true, 0};
  EXPECT_NEAR(time(attention, Pass::forward, 2), 3.21e-3, 1e-12);
  EXPECT_NEAR(model.optimizer_work(1e6, 1, 28).duration(1, 0).value, 6e-3, 1e-12);
  EXPECT_NEAR(model.copy_work("bucket", Bytes(1e7), 1).duration(1, 0).value, 1.02e-3, 1e-12);
}

TEST(ProfileToml, FiguresComeFromTheFitsAndTheSpread) {
  const Profile profile = read_back(measured_host());
  EXPECT_NEAR(profile.gpu.memory_rate.value.value, 10e9, 0.1e9);
  EXPECT_THAT(profile.gpu.memory_rate.source, HasSubstr("fit of copy"));
  EXPECT_EQ(profile.gpu.memory_rate.measured_on, "2026-12-01, a b");
  EXPECT_EQ(profile.gpu.memory_capacity.value, gibibytes(8));
  EXPECT_EQ(profile.kernel_jitter, 0.03);
  EXPECT_EQ(profile.collective_jitter, 0.03);
  EXPECT_EQ(profile.gpu.gemm_origin, Origin::measured);
}

TEST(ProfileToml, CollectivesCarryRateGroupAndCpuTime) {
  const MeasuredSet set = measured_host();
  const Profile profile = read_back(set);
  ASSERT_EQ(profile.collectives.size(), 1U);
  const MeasuredCollective& entry = profile.collectives.front();
  EXPECT_EQ(entry.operation, "all_reduce");
  EXPECT_EQ(entry.fabric, "ethernet-1g");
  EXPECT_NEAR(entry.link_rate->value, 125e6, 1e-6);
  EXPECT_EQ(entry.gpus_per_node, 1);
  ASSERT_EQ(entry.points.size(), 4U);
  ASSERT_EQ(entry.cpu_points.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const Measured& one = set.results[set.results.size() - 4 + i];
    EXPECT_EQ(entry.points[i].first, one.what.bytes);
    EXPECT_NEAR(entry.points[i].second / one.median, 1, 1e-10);
    EXPECT_NEAR(entry.cpu_points[i].second / one.host, 1, 1e-10);
  }
}

TEST(ProfileToml, SaysTheFitsForPeople) {
  const std::string text = profile_toml(measured_host());
  EXPECT_THAT(text, HasSubstr("of = \"all_reduce, 2 ranks on 2 nodes, ethernet-1g\""));
  EXPECT_THAT(text, HasSubstr("[\"latency\", \"150 us\""));
  EXPECT_THAT(text, HasSubstr("[\"half_peak_size\""));
  EXPECT_EQ(text, profile_toml(measured_host()));
}

TEST(ProfileToml, OnAGpuCeilingsLaunchesAndLinksOfTheHostAreFigures) {
  MeasuredSet set = two_hosts();
  set.device.profile_name = "h100-sxm";
  set.device.compute_capability = 9.0;
  set.device.versions = {{"NCCL", "2.27.7"}};
  set.node = "hgx-h100";
  set.fabric = "infiniband-400g";
  set.nodes = 1;
  const GpuProfile h100 = load_profile("h100-sxm", "hgx-h100", "stepcast-trainer", {}, {}).gpu;
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) {
    // 80 % of the peak, as if there were no tiles.
    const double flops = 2.0 * static_cast<double>(n * n * n);
    set.results.push_back(taken(gemm_of(n, n, n, false, true, Dtype::bf16),
                                microseconds(3) + Flop(flops) / (0.8 * h100.peak.at(Dtype::bf16).value)));
  }
  Measurement launch;
  launch.kind = Measurement::Kind::launch;
  set.results.push_back(taken(launch, microseconds(5)));
  set.results.back().host = microseconds(4.5);
  for (const bool to_device : {true, false}) {
    for (const double size : {1e6, 1e8}) {
      Measurement copy;
      copy.kind = Measurement::Kind::host_copy;
      copy.bytes = Bytes(size);
      copy.to_device = to_device;
      set.results.push_back(taken(copy, Seconds(1e-5 + size / (to_device ? 55e9 : 50e9))));
    }
  }
  set.results.push_back(taken(collective_of(Operation::all_reduce, 1e9, 8, 1), Seconds(4e-3)));
  const Profile profile = read_back(set);
  EXPECT_THAT(profile.notes, IsEmpty());
  EXPECT_NEAR(profile.gpu.host_link_rate.value.value, 50e9, 1e6);
  EXPECT_NEAR(profile.software.host_per_kernel.value.value, 4.5e-6, 1e-12);
  EXPECT_GT(profile.gpu.gemm_ceiling.at(Dtype::bf16).value, 0.75);
  EXPECT_LT(profile.gpu.gemm_ceiling.at(Dtype::bf16).value, 1.1);
  EXPECT_THAT(profile.gpu.gemm_ceiling.at(Dtype::bf16).source, HasSubstr("calibrate"));
  ASSERT_EQ(profile.collectives.size(), 1U);
  EXPECT_EQ(profile.collectives.front().fabric, "hgx-h100");
  EXPECT_EQ(profile.collectives.front().nccl_version, "2.27.7");
  EXPECT_FALSE(profile.collectives.front().link_rate);
}

TEST(ProfileToml, ASetWithoutResultsIsStillAProfile) {
  MeasuredSet set = two_hosts();
  EXPECT_THAT(read_back(set).notes, IsEmpty());
  EXPECT_THAT(profile_toml(set), Not(HasSubstr("[[")));
}

// Two rails of one shape were measured: their points stand in one table, by the median.
TEST(ProfileToml, GroupsOfOneShapeShareATable) {
  MeasuredSet set = two_hosts();
  for (const double milliseconds : {10.0, 12.0})
    set.results.push_back(
        taken(collective_of(Operation::all_gather, 1e6, 2, 2), Seconds(1e-3 * milliseconds)));
  const Profile profile = read_back(set);
  ASSERT_EQ(profile.collectives.size(), 1U);
  EXPECT_NEAR(profile.collectives.front().points.front().second.value, 11e-3, 1e-12);
}

}  // namespace
}  // namespace stepcast
