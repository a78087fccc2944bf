#include "sim/validate/validate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/document.hpp"
#include "sim/validate/output.hpp"
#include "tests/sim/validate/example_row.hpp"

namespace stepcast {
namespace {

using testing::Contains;
using testing::HasSubstr;

MeasuredTable table_of(std::vector<MeasuredRow> rows) {
  MeasuredTable table;
  for (unsigned i = 0; i < rows.size(); ++i) rows[i].line = i + 2;
  table.rows = std::move(rows);
  return table;
}

Validation example(int jobs = 1) {
  const MeasuredTable table = table_of(
      {example_row(), example_row({{"model", "SSD300"}}), example_row({{"activation_checkpoint", ""}})});
  ValidateOptions options;
  options.jobs = jobs;
  return validate({table}, Mapping::shipped(), options);
}

const GroupSummary* group_of(const Validation& validation, const std::string& name) {
  for (const GroupSummary& group : validation.summary) {
    if (group.group == name) return &group;
  }
  return nullptr;
}

TEST(Validate, PredictsWhatItCanAndSaysWhyItSkipsTheRest) {
  const Validation validation = example();
  ASSERT_EQ(validation.rows.size(), 2u);
  ASSERT_EQ(validation.skipped.size(), 1u);
  EXPECT_EQ(validation.skipped[0].line, 3u);
  EXPECT_EQ(validation.skipped[0].reason, "model SSD300 is not of a known family");
  const ValidatedRow& row = validation.rows[0];
  EXPECT_GT(row.predicted.value, 0);
  EXPECT_NEAR(row.relative_error, row.predicted.value / 1.6384 - 1, 1e-9);
}

TEST(Validate, StatedAndAssumedRowsAreGroupsOfTheirOwn) {
  const Validation validation = example();
  EXPECT_EQ(group_of(validation, "all")->rows, 2);
  EXPECT_EQ(group_of(validation, "stated")->rows, 1);
  EXPECT_EQ(group_of(validation, "assumed")->rows, 1);
  EXPECT_EQ(group_of(validation, "gpu:a100-sxm-80g")->rows, 2);
  EXPECT_EQ(group_of(validation, "source:an author")->rows, 2);
  EXPECT_EQ(group_of(validation, "scale:up to 64 GPUs")->rows, 2);
}

TEST(Validate, GivesTheSameBytesOnAnyNumberOfThreads) {
  EXPECT_EQ(to_json(example(1), {}), to_json(example(3), {}));
}

TEST(Validate, TheJsonHasTheContractsKeys) {
  const Value json = parse_json(to_json(example(), {}), "out.json");
  EXPECT_EQ(json.find("schema")->string, "stepcast.validation/1");
  const Value& row = json.find("rows")->array.at(0);
  for (const char* key : {"file", "line", "predicted", "measured", "relative_error", "assumed", "settings",
                          "source", "gpu", "model", "software", "strategy", "gpus"}) {
    EXPECT_NE(row.find(key), nullptr) << key;
  }
  EXPECT_EQ(row.find("file")->string, "t.csv");
  EXPECT_EQ(row.find("line")->integer, 2);
  EXPECT_EQ(row.find("assumed")->array.size(), 0u);
  EXPECT_EQ(row.find("settings")->find("cluster.nodes")->integer, 2);
  const Value& group = json.find("summary")->array.at(0);
  for (const char* key : {"group", "rows", "median_abs_error", "p90_abs_error", "bias", "kendall_tau"}) {
    EXPECT_NE(group.find(key), nullptr) << key;
  }
  EXPECT_EQ(json.find("skipped")->array.at(0).find("line")->integer, 3);
}

TEST(Validate, WithoutRowsTheThreeMainGroupsAreEmpty) {
  const Validation validation = validate({}, Mapping::shipped(), {});
  ASSERT_EQ(validation.summary.size(), 3u);
  EXPECT_EQ(validation.summary[0].rows, 0);
  EXPECT_THAT(to_json(validation, {}), HasSubstr("\"median_abs_error\": null"));
}

TEST(Validate, TextAndMarkdownNameTheGroups) {
  const Validation validation = example();
  EXPECT_THAT(to_text(validation), HasSubstr("gpu:a100-sxm-80g"));
  EXPECT_THAT(to_text(validation), HasSubstr("2 of 3 measurements predicted, 1 skipped"));
  const std::string page = to_markdown(validation, "2026-12-01", "stepcast validate");
  EXPECT_THAT(page, HasSubstr("2026-12-01"));
  EXPECT_THAT(page, HasSubstr("| a100-sxm-80g | 2 |"));
}

TEST(Validate, ScalesByGpusAndNodes) {
  EXPECT_EQ(scale_group(1, 1), "scale:1 GPU");
  EXPECT_EQ(scale_group(8, 1), "scale:one node");
  EXPECT_EQ(scale_group(64, 8), "scale:up to 64 GPUs");
  EXPECT_EQ(scale_group(65, 9), "scale:up to 512 GPUs");
  EXPECT_EQ(scale_group(1024, 128), "scale:above 512 GPUs");
}

// Every published row is either mapped or has a reason; nothing else may leave map_row.
TEST(Validate, EveryPublishedRowIsMappedOrSkippedWithAReason) {
  const std::filesystem::path folder =
      std::filesystem::path(STEPCAST_SOURCE_DIR) / "../shared/data/throughput";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no published data beside the project";
  int rows = 0, mapped_rows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".csv") continue;
    for (const MeasuredRow& row : read_measured(entry.path().string()).rows) {
      ++rows;
      try {
        EXPECT_GT(map_row(row, Mapping::shipped()).measured.value, 0);
        ++mapped_rows;
      } catch (const SkippedRow& skipped) {
        EXPECT_FALSE(skipped.reason.empty()) << row.file << ":" << row.line;
      }
    }
  }
  EXPECT_GT(rows, 1000);
  EXPECT_GT(mapped_rows, rows / 20);
}

}  // namespace
}  // namespace stepcast
