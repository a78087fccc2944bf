#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.hpp"
#include "tests/sim/report/example_report.hpp"

namespace stepcast {
namespace {

std::vector<std::string> keys_of(const Value& table) {
  std::vector<std::string> keys;
  for (const Value::Entry& entry : table.table) keys.push_back(entry.key);
  return keys;
}

Value first_point(const Report& report) {
  const Value document = parse_json(to_json(report), "result");
  return document.find("points")->array.at(0);
}

Report one_point(PointReport point) {
  Report report;
  report.title = "one";
  report.points = {std::move(point)};
  return report;
}

TEST(ResultJson, HasEveryKeyOfTheContractInItsOrder) {
  const Value document = parse_json(to_json(example_sweep()), "result");
  EXPECT_THAT(keys_of(document), testing::ElementsAre("schema", "title", "points"));
  EXPECT_EQ(document.find("schema")->string, "stepcast.result/1");
  ASSERT_EQ(document.find("points")->array.size(), 4U);
  const Value& point = document.find("points")->array[1];
  EXPECT_THAT(keys_of(point), testing::ElementsAreArray({"settings",
                                                         "gpus",
                                                         "data_parallel_size",
                                                         "global_batch_size",
                                                         "fits",
                                                         "memory",
                                                         "step_time_s",
                                                         "step_time_p05_s",
                                                         "step_time_p50_s",
                                                         "step_time_p95_s",
                                                         "samples_per_s",
                                                         "tokens_per_s",
                                                         "tokens_per_s_per_gpu",
                                                         "mfu",
                                                         "hfu",
                                                         "flops_convention",
                                                         "scaling_efficiency",
                                                         "baseline",
                                                         "breakdown",
                                                         "communication",
                                                         "links",
                                                         "bottleneck",
                                                         "sensitivity",
                                                         "cost",
                                                         "uncertainty",
                                                         "origins",
                                                         "dtypes",
                                                         "warnings"}));
  EXPECT_THAT(
      keys_of(*point.find("memory")),
      testing::ElementsAreArray({"peak_bytes", "allocated_peak_bytes", "reserved_bytes", "capacity_bytes",
                                 "peak_at", "parameters_bytes", "gradients_bytes", "optimizer_bytes",
                                 "activations_bytes", "buffers_bytes", "slack_bytes", "framework_bytes"}));
  EXPECT_THAT(keys_of(*point.find("breakdown")),
              testing::ElementsAre("compute_s", "exposed_communication_s", "pipeline_bubble_s", "optimizer_s",
                                   "input_s", "host_s"));
  EXPECT_THAT(keys_of(point.find("communication")->array.at(0)),
              testing::ElementsAre("operation", "group", "bytes", "count", "algorithm", "protocol", "time_s",
                                   "bus_bandwidth_Bps", "exposed_s"));
  EXPECT_THAT(keys_of(point.find("links")->array.at(0)),
              testing::ElementsAre("kind", "name", "utilization", "busy_s"));
  EXPECT_THAT(keys_of(*point.find("uncertainty")),
              testing::ElementsAre("step_time_low_s", "step_time_high_s", "basis"));
  EXPECT_THAT(keys_of(*point.find("origins")),
              testing::ElementsAre("gemm", "attention", "memory", "nvlink", "network", "software"));
  EXPECT_THAT(keys_of(*point.find("dtypes")),
              testing::ElementsAre("parameter_dtype", "gradient_dtype", "reduce_dtype", "optimizer_dtype",
                                   "precision"));
}

// 10 + 10 + 10 + 6 + 2 GiB allocated, 2 GiB framework, 1 GiB slack: 41 GiB. 38 + 2 = 40 <= 80 fits.
TEST(ResultJson, SixPartsAndTheSlackAddUpToThePeak) {
  const Value point = first_point(one_point(example_point()));
  const Value& memory = *point.find("memory");
  const double gib = 1024.0 * 1024 * 1024;
  double sum = 0;
  for (const char* part : {"parameters_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes",
                           "buffers_bytes", "framework_bytes", "slack_bytes"}) {
    sum += memory.find(part)->real;
  }
  EXPECT_DOUBLE_EQ(sum, memory.find("peak_bytes")->real);
  EXPECT_DOUBLE_EQ(sum, 41 * gib);
  EXPECT_DOUBLE_EQ(memory.find("allocated_peak_bytes")->real, 38 * gib);
  EXPECT_DOUBLE_EQ(memory.find("reserved_bytes")->real, 39 * gib);
  EXPECT_TRUE(point.find("fits")->boolean);
}

TEST(ResultJson, SettingsKeepTheirTypes) {
  PointReport point = example_point();
  set(point, "cluster.nodes", Value::of(std::int64_t{4}));
  set(point, "cluster.fabric", Value::of("roce-200g"));
  const Value settings = *first_point(one_point(point)).find("settings");
  EXPECT_EQ(settings.find("cluster.nodes")->kind, Value::Kind::integer);
  EXPECT_EQ(settings.find("cluster.nodes")->integer, 4);
  EXPECT_EQ(settings.find("cluster.fabric")->string, "roce-200g");
}

TEST(ResultJson, WhatIsUnknownIsNull) {
  PointReport unknown = example_point();
  unknown.tokens_per_s.reset();
  unknown.mfu.reset();
  unknown.hfu.reset();
  unknown.scaling_efficiency.reset();
  EXPECT_EQ(first_point(one_point(example_point())).find("flops_convention")->kind, Value::Kind::string);
  const Value point = first_point(one_point(unknown));
  for (const char* key : {"tokens_per_s", "tokens_per_s_per_gpu", "mfu", "hfu", "flops_convention",
                          "scaling_efficiency", "baseline", "sensitivity", "cost"}) {
    ASSERT_NE(point.find(key), nullptr) << key;
    EXPECT_EQ(point.find(key)->kind, Value::Kind::null) << key;
  }
  EXPECT_EQ(point.find("origins")->find("network")->kind, Value::Kind::null);
}

TEST(ResultJson, APointThatCannotExistHasOnlySettingsAndItsReason) {
  PointReport point;
  set(point, "training.global_batch_size", Value::of(std::int64_t{7}));
  point.invalid = "global_batch_size 7 is not divisible by 8";
  EXPECT_THAT(keys_of(first_point(one_point(point))), testing::ElementsAre("settings", "invalid"));
}

}  // namespace
}  // namespace stepcast
