#include "base/json.hpp"

#include "sim/report/report.hpp"

namespace stepcast {
namespace {

constexpr const char* flops_convention =
    "matrix products only, 2 m n k each; causal attention halved; backward twice forward; mfu without "
    "recomputation, "
    "hfu with it; over the dense datasheet peak of the compute type";

void write_settings(JsonWriter& json, const std::vector<std::pair<std::string, Value>>& settings) {
  json.begin_object();
  for (const auto& [key, value] : settings) json.member(key, value);
  json.end_object();
}

/// Text, or null where nothing is known.
void text_member(JsonWriter& json, const std::string& key, const std::string& text) {
  json.key(key);
  if (text.empty()) {
    json.null();
  } else {
    json.value(text);
  }
}

void write_texts(JsonWriter& json, const std::vector<std::pair<std::string, std::string>>& texts) {
  json.begin_object();
  for (const auto& [key, text] : texts) text_member(json, key, text);
  json.end_object();
}

void write_memory(JsonWriter& json, const MemoryReport& memory) {
  json.begin_object();
  json.member("peak_bytes", memory.peak().value);
  json.member("allocated_peak_bytes", memory.allocated_peak().value);
  json.member("reserved_bytes", memory.reserved().value);
  json.member("capacity_bytes", memory.capacity.value);
  text_member(json, "peak_at", memory.peak_at);
  json.member("parameters_bytes", memory.parameters.value);
  json.member("gradients_bytes", memory.gradients.value);
  json.member("optimizer_bytes", memory.optimizer.value);
  json.member("activations_bytes", memory.activations.value);
  json.member("buffers_bytes", memory.buffers.value);
  json.member("slack_bytes", memory.slack.value);
  json.member("framework_bytes", memory.framework.value);
  json.end_object();
}

void write_breakdown(JsonWriter& json, const Breakdown& parts) {
  json.begin_object();
  json.member("compute_s", parts.compute.value);
  json.member("exposed_communication_s", parts.exposed_communication.value);
  json.member("pipeline_bubble_s", parts.pipeline_bubble.value);
  json.member("optimizer_s", parts.optimizer.value);
  json.member("input_s", parts.input.value);
  json.member("host_s", parts.host.value);
  json.end_object();
}

void write_communication(JsonWriter& json, const std::vector<CommunicationRow>& rows) {
  json.begin_array();
  for (const CommunicationRow& row : rows) {
    json.begin_object();
    json.member("operation", row.operation);
    json.member("group", row.group);
    json.member("bytes", row.bytes.value);
    json.member("count", row.count);
    text_member(json, "algorithm", row.algorithm);
    text_member(json, "protocol", row.protocol);
    json.member("time_s", row.time.value);
    json.member("bus_bandwidth_Bps", row.bus_bandwidth.value);
    json.member("exposed_s", row.exposed.value);
    json.end_object();
  }
  json.end_array();
}

void write_links(JsonWriter& json, const std::vector<LinkRow>& rows) {
  json.begin_array();
  for (const LinkRow& row : rows) {
    json.begin_object();
    json.member("kind", row.kind);
    json.member("name", row.name);
    json.member("utilization", row.utilization);
    json.member("busy_s", row.busy.value);
    json.end_object();
  }
  json.end_array();
}

void write_point(JsonWriter& json, const PointReport& point) {
  json.begin_object();
  json.key("settings");
  write_settings(json, point.settings);
  if (!point.invalid.empty()) {
    json.member("invalid", point.invalid);
    json.end_object();
    return;
  }
  json.member("gpus", point.gpus);
  json.member("data_parallel_size", point.data_parallel_size);
  json.member("global_batch_size", point.global_batch_size);
  json.member("fits", point.memory.fits());
  json.key("memory");
  write_memory(json, point.memory);
  json.member("step_time_s", point.step_time.value);
  json.member("step_time_p05_s", point.step_time_p05.value);
  json.member("step_time_p50_s", point.step_time_p50.value);
  json.member("step_time_p95_s", point.step_time_p95.value);
  json.member("samples_per_s", point.samples_per_s);
  json.member("tokens_per_s", point.tokens_per_s);
  json.key("tokens_per_s_per_gpu");
  if (point.tokens_per_s) {
    json.value(*point.tokens_per_s / point.gpus);
  } else {
    json.null();
  }
  json.member("mfu", point.mfu);
  json.member("hfu", point.hfu);
  text_member(json, "flops_convention", point.mfu ? flops_convention : "");
  json.member("scaling_efficiency", point.scaling_efficiency);
  json.key("baseline");
  if (point.scaling_efficiency) {
    write_settings(json, point.baseline);
  } else {
    json.null();
  }
  json.key("breakdown");
  write_breakdown(json, point.breakdown);
  json.key("communication");
  write_communication(json, point.communication);
  json.key("links");
  write_links(json, point.links);
  json.member("bottleneck", point.bottleneck);
  json.key("sensitivity");
  json.null();
  json.key("cost");
  json.null();
  json.key("uncertainty");
  json.begin_object();
  for (const char* key : {"step_time_low_s", "step_time_high_s", "basis"}) {
    json.key(key);
    json.null();
  }
  json.end_object();
  json.key("origins");
  write_texts(json, point.origins);
  json.key("dtypes");
  write_texts(json, point.dtypes);
  json.key("warnings");
  json.begin_array();
  for (const std::string& warning : point.warnings) json.value(warning);
  json.end_array();
  json.end_object();
}

}  // namespace

std::string to_json(const Report& report) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "stepcast.result/1");
  json.member("title", report.title);
  json.key("points");
  json.begin_array();
  for (const PointReport& point : report.points) write_point(json, point);
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace stepcast
