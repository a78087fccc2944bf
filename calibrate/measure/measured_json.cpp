#include "calibrate/measure/measured_json.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <initializer_list>
#include <stdexcept>

#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

class Line {
 public:
  Line() { writer_.StartObject(); }
  void begin(const char* name) {
    writer_.Key(name);
    writer_.StartObject();
  }
  void end() { writer_.EndObject(); }
  void member(const char* name, std::string_view text) {
    writer_.Key(name);
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void member(const char* name, std::int64_t number) {
    writer_.Key(name);
    writer_.Int64(number);
  }
  void member(const char* name, int number) { member(name, std::int64_t{number}); }
  void member(const char* name, bool truth) {
    writer_.Key(name);
    writer_.Bool(truth);
  }
  void member(const char* name, double number) {
    writer_.Key(name);
    writer_.Double(std::isfinite(number) ? number : 0);
  }
  template <class T, class Put>
  void list(const char* name, const std::vector<T>& items, const Put& put) {
    writer_.Key(name);
    writer_.StartArray();
    for (const T& item : items) put(writer_, item);
    writer_.EndArray();
  }
  [[nodiscard]] std::string text() {
    writer_.EndObject();
    return buffer_.GetString();
  }

 private:
  rapidjson::StringBuffer buffer_;
  Writer writer_{buffer_};
};

void put(Line& line, const Measurement& what) {
  line.begin("measurement");
  line.member("kind", name_of(what.kind));
  line.member("dtype", name_of(what.dtype));
  line.member("backward", what.pass == Pass::backward);
  line.member("rows", what.rows);
  line.member("columns", what.columns);
  line.member("depth", what.depth);
  line.member("transpose_a", what.transpose_a);
  line.member("transpose_b", what.transpose_b);
  line.member("samples", what.samples);
  line.member("heads", what.heads);
  line.member("head_dim", what.head_dim);
  line.member("length", what.length);
  line.member("operation", what.operation);
  line.member("elements", what.elements);
  line.member("moved_bytes", what.moved.value);
  line.member("collective", name_of(what.collective));
  line.member("bytes", what.bytes.value);
  line.list("ranks", what.ranks, [](Writer& writer, int rank) { writer.Int(rank); });
  line.member("group", what.group);
  line.member("nodes", what.nodes);
  line.member("to_device", what.to_device);
  line.end();
}

const Value& member(const Value& tree, const char* name) {
  const Value* found = tree.find(name);
  if (!found) throw std::invalid_argument("\"" + std::string(name) + "\" is missing");
  return *found;
}
double number(const Value& tree, const char* name) { return member(tree, name).real; }
Seconds time(const Value& tree, const char* name) { return Seconds(number(tree, name)); }
std::int64_t whole(const Value& tree, const char* name) { return member(tree, name).integer; }
int small(const Value& tree, const char* name) { return static_cast<int>(whole(tree, name)); }
bool truth(const Value& tree, const char* name) { return member(tree, name).boolean; }
const std::string& text(const Value& tree, const char* name) { return member(tree, name).string; }

/// The value among `all` that bears the name.
template <class T>
T named(const Value& tree, const char* key, std::initializer_list<T> all) {
  for (const T one : all) {
    if (name_of(one) == text(tree, key)) return one;
  }
  throw std::invalid_argument("unknown " + std::string(key) + " \"" + text(tree, key) + "\"");
}

Measurement measurement_of(const Value& tree) {
  using Kind = Measurement::Kind;
  Measurement what;
  what.kind = named(tree, "kind",
                    {Kind::gemm, Kind::attention, Kind::kernel, Kind::launch, Kind::host_copy,
                     Kind::collective, Kind::overlap, Kind::sustained});
  what.dtype = named(tree, "dtype", {Dtype::fp32, Dtype::tf32, Dtype::bf16, Dtype::fp16, Dtype::fp8});
  what.pass = truth(tree, "backward") ? Pass::backward : Pass::forward;
  what.rows = whole(tree, "rows");
  what.columns = whole(tree, "columns");
  what.depth = whole(tree, "depth");
  what.transpose_a = truth(tree, "transpose_a");
  what.transpose_b = truth(tree, "transpose_b");
  what.samples = whole(tree, "samples");
  what.heads = whole(tree, "heads");
  what.head_dim = whole(tree, "head_dim");
  what.length = whole(tree, "length");
  what.operation = text(tree, "operation");
  what.elements = whole(tree, "elements");
  what.moved = Bytes(number(tree, "moved_bytes"));
  what.collective =
      named(tree, "collective",
            {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter, Operation::broadcast,
             Operation::reduce, Operation::all_to_all, Operation::send_recv});
  what.bytes = Bytes(number(tree, "bytes"));
  for (const Value& rank : member(tree, "ranks").array) what.ranks.push_back(static_cast<int>(rank.integer));
  what.group = text(tree, "group");
  what.nodes = small(tree, "nodes");
  what.to_device = truth(tree, "to_device");
  return what;
}

}  // namespace

std::string to_json_line(const Measured& measured) {
  Line line;
  put(line, measured.what);
  line.member("median_s", measured.median.value);
  line.member("low_s", measured.low.value);
  line.member("high_s", measured.high.value);
  line.member("spread", measured.spread);
  line.list("by_rank_s", measured.by_rank,
            [](Writer& writer, Seconds time_of_rank) { writer.Double(time_of_rank.value); });
  line.member("repeats", measured.repeats);
  line.member("host_s", measured.host.value);
  line.member("alone_s", measured.alone.value);
  line.member("algorithm", measured.facts.algorithm);
  line.member("protocol", measured.facts.protocol);
  line.member("channels", measured.facts.channels);
  line.member("estimate_s", measured.facts.estimate.value);
  return line.text();
}

std::string to_json_line(const PlannedMeasurement& planned) {
  Line line;
  put(line, planned.what);
  line.member("one_call_s", planned.one_call.value);
  line.member("expected_s", planned.expected.value);
  line.member("memory_bytes", planned.memory.value);
  line.member("stage", planned.stage);
  return line.text();
}

Measured measured_of(const Value& tree) {
  Measured measured;
  measured.what = measurement_of(member(tree, "measurement"));
  measured.median = time(tree, "median_s");
  measured.low = time(tree, "low_s");
  measured.high = time(tree, "high_s");
  measured.spread = number(tree, "spread");
  for (const Value& of_rank : member(tree, "by_rank_s").array) measured.by_rank.emplace_back(of_rank.real);
  measured.repeats = small(tree, "repeats");
  measured.host = time(tree, "host_s");
  measured.alone = time(tree, "alone_s");
  measured.facts.algorithm = text(tree, "algorithm");
  measured.facts.protocol = text(tree, "protocol");
  measured.facts.channels = small(tree, "channels");
  measured.facts.estimate = time(tree, "estimate_s");
  return measured;
}

PlannedMeasurement planned_of(const Value& tree) {
  PlannedMeasurement planned;
  planned.what = measurement_of(member(tree, "measurement"));
  planned.one_call = time(tree, "one_call_s");
  planned.expected = time(tree, "expected_s");
  planned.memory = Bytes(number(tree, "memory_bytes"));
  planned.stage = small(tree, "stage");
  return planned;
}

}  // namespace stepcast
