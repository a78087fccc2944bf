#include "base/json.hpp"
#include "calibrate/import/trace_output.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

void write_times(JsonWriter& json, const StepTimes& times) {
  json.member("duration_s", times.duration.value);
  json.key("classes");
  json.begin_object();
  for (int i = 0; i < kernel_classes; ++i) {
    const ClassTime& one = times.classes[static_cast<std::size_t>(i)];
    json.key(name_of(static_cast<KernelClass>(i)));
    json.begin_object();
    json.member("count", one.count);
    json.member("time_s", one.time.value);
    json.end_object();
  }
  json.end_object();
  for (int i = 0; i < step_parts; ++i)
    json.member(std::string(name_of(static_cast<StepPart>(i))) + "_s",
                times.parts[static_cast<std::size_t>(i)].value);
  json.member("waiting_for_launch_s", times.waiting_for_launch.value);
  json.member("waiting_for_communication_s", times.waiting_for_communication.value);
  json.member("waiting_for_other_s", times.waiting_for_other.value);
  json.member("exposed_communication_s", times.exposed_communication.value);
}

std::optional<std::int64_t> whole(std::optional<Bytes> size) {
  return size ? std::optional(static_cast<std::int64_t>(size->value)) : std::nullopt;
}

void write_collective(JsonWriter& json, const TracedSeries& series) {
  json.begin_object();
  json.member("operation", series.name);
  json.member("bytes", whole(series.size));
  json.member("ranks",
              series.ranks > 0 ? std::optional(static_cast<std::int64_t>(series.ranks)) : std::nullopt);
  json.member("group", series.group);
  json.member("calls", static_cast<std::int64_t>(series.calls.size()));
  json.member("lower_quartile_s", series.lower_quartile.value);
  json.member("median_s", series.median.value);
  json.member("exposed_s", series.exposed.value);
  json.end_object();
}

void write_copies(JsonWriter& json, const CopySeries& copies) {
  json.begin_object();
  json.member("kind", copies.kind);
  json.member("count", copies.count);
  json.member("bytes", static_cast<std::int64_t>(copies.bytes.value));
  json.member("time_s", copies.time.value);
  json.member("large_rate_Bps", copies.large > 0 ? std::optional(copies.large_rate.value) : std::nullopt);
  json.end_object();
}

void write_product(JsonWriter& json, const ProductSeries& product) {
  json.begin_object();
  json.member("dtype", name_of(product.dtype));
  json.member("rows", product.rows);
  json.member("columns", product.columns);
  json.member("depth", product.depth);
  json.member("layout", product.layout);
  json.member("calls", product.calls);
  json.member("median_s", product.median.value);
  json.end_object();
}

template <class List, class Write>
void write_list(JsonWriter& json, const char* key, const List& list, Write write) {
  json.key(key);
  json.begin_array();
  for (const auto& one : list) write(one);
  json.end_array();
}

void write_summary(JsonWriter& json, const TraceSummary& summary) {
  const TraceFacts& facts = summary.facts;
  const auto known = [](int number) {
    return number >= 0 ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
  };
  json.begin_object();
  json.member("file", summary.file);
  json.member("gpu", summary.gpu);
  json.member("rank", known(facts.rank));
  json.member("world_size", known(facts.world_size));
  json.member("events", static_cast<std::int64_t>(facts.events));
  json.member("complete", facts.damage.empty());
  json.member("launches", summary.launches);
  json.member("launch_median_s", summary.launch_median.value);
  json.key("whole");
  json.begin_object();
  write_times(json, summary.whole);
  json.end_object();
  write_list(json, "steps", summary.steps, [&](const StepTimes& step) {
    json.begin_object();
    json.member("number", step.number);
    write_times(json, step);
    json.end_object();
  });
  write_list(json, "collectives", summary.collectives,
             [&](const TracedSeries& one) { write_collective(json, one); });
  write_list(json, "copies", summary.copies, [&](const CopySeries& one) { write_copies(json, one); });
  write_list(json, "products", summary.products, [&](const ProductSeries& one) { write_product(json, one); });
  write_list(json, "kernels", summary.kernels, [&](const KernelTime& kernel) {
    json.begin_object();
    json.member("name", kernel.name);
    json.member("class", name_of(kernel.kind));
    json.member("count", kernel.total.count);
    json.member("time_s", kernel.total.time.value);
    json.end_object();
  });
  write_list(json, "notes", summary.notes, [&](const std::string& note) { json.value(note); });
  json.end_object();
}

}  // namespace

std::string to_json(const std::vector<TraceSummary>& summaries) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "stepcast.trace/1");
  write_list(json, "traces", summaries, [&](const TraceSummary& summary) { write_summary(json, summary); });
  json.end_object();
  return json.text();
}

}  // namespace stepcast
