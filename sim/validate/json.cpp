#include "base/json.hpp"

#include <cstdint>
#include <cstdio>

#include "sim/report/nccl_tests.hpp"
#include "sim/validate/csv.hpp"
#include "sim/validate/output.hpp"

namespace stepcast {
namespace {

/// What rows of both kinds have.
template <class Row>
void begin_row(JsonWriter& json, const Row& row) {
  json.begin_object();
  json.member("file", row.file);
  json.member("line", std::int64_t{row.line});
  json.member("predicted", row.predicted.value);
  json.member("measured", row.measured.value);
  json.member("relative_error", row.relative_error);
  json.key("assumed");
  json.begin_array();
  for (const std::string& assumption : row.assumed) json.value(assumption);
  json.end_array();
  json.key("settings");
  json.begin_object();
  for (const auto& [key, value] : row.settings) json.member(key, value);
  json.end_object();
}

void write_row(JsonWriter& json, const ValidatedCollective& row) {
  begin_row(json, row);
  json.member("low", row.low.value);
  json.member("high", row.high.value);
  json.key("corrected");
  if (row.corrected) {
    json.value(row.corrected->value);
  } else {
    json.null();
  }
  json.member("harness_s", row.harness.value);
  json.member("set_id", row.set);
  json.member("operation", nccl_tests_name(row.operation));
  json.member("bytes", static_cast<std::int64_t>(row.bytes.value));
  json.member("ranks", row.ranks);
  json.member("in_place", row.in_place);
  json.member("algorithm", name_of(row.algorithm));
  json.member("protocol", name_of(row.protocol));
  json.member("channels", row.channels);
  json.member("gpu", row.gpu);
  json.member("transport", row.transport);
  json.member("timing", row.timing);
  json.member("judged", row.judged);
  json.end_object();
}

void write_row(JsonWriter& json, const ValidatedRow& row) {
  begin_row(json, row);
  json.member("source", row.source);
  json.member("gpu", row.gpu);
  json.member("model", row.model);
  json.member("software", row.software);
  json.member("strategy", row.strategy);
  json.member("gpus", row.gpus);
  json.member("fits", row.fits);
  json.end_object();
}

void write_summary(JsonWriter& json, const GroupSummary& group) {
  json.begin_object();
  json.member("group", group.group);
  json.member("rows", group.rows);
  json.member("median_abs_error", group.median_abs_error);
  json.member("p90_abs_error", group.p90_abs_error);
  json.member("bias", group.bias);
  json.member("kendall_tau", group.kendall_tau);
  json.end_object();
}

/// Nine digits: enough to compute with.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

std::string to_json(const Validation& validation, const CollectiveValidation& collectives) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "stepcast.validation/1");
  json.key("rows");
  json.begin_array();
  for (const ValidatedRow& row : validation.rows) write_row(json, row);
  for (const ValidatedCollective& row : collectives.rows) write_row(json, row);
  json.end_array();
  json.key("skipped");
  json.begin_array();
  for (const auto* list : {&validation.skipped, &collectives.skipped}) {
    for (const SkippedMeasurement& skipped : *list) {
      json.begin_object();
      json.member("file", skipped.file);
      json.member("line", std::int64_t{skipped.line});
      json.member("reason", skipped.reason);
      json.end_object();
    }
  }
  json.end_array();
  json.key("summary");
  json.begin_array();
  for (const GroupSummary& group : validation.summary) write_summary(json, group);
  for (GroupSummary group : collectives.summary) {
    if (!validation.summary.empty()) group.group = "collectives " + group.group;
    write_summary(json, group);
  }
  json.end_array();
  json.end_object();
  return json.text();
}

std::string to_csv(const Validation& validation) {
  std::string text =
      "file,line,source,model,gpu,gpus,software,strategy,measured_s,predicted_s,relative_error,fits,assumed,"
      "settings\n";
  for (const ValidatedRow& row : validation.rows) {
    std::string assumed, settings;
    for (const std::string& assumption : row.assumed) assumed += (assumed.empty() ? "" : "; ") + assumption;
    for (const auto& [key, value] : row.settings) {
      settings += (settings.empty() ? "" : "; ") + key + " = " + value.to_text();
    }
    text += csv_cell(row.file) + "," + std::to_string(row.line) + "," + csv_cell(row.source) + "," +
            csv_cell(row.model) + "," + row.gpu + "," + std::to_string(row.gpus) + "," + row.software + "," +
            row.strategy + "," + number(row.measured.value) + "," + number(row.predicted.value) + "," +
            number(row.relative_error) + "," + (row.fits ? "yes" : "no") + "," + csv_cell(assumed) + "," +
            csv_cell(settings) + "\n";
  }
  return text;
}

}  // namespace stepcast
