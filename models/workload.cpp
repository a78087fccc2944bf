#include "models/workload.hpp"

#include <map>
#include <utility>

#include "base/document.hpp"
#include "base/table_reader.hpp"

namespace stepcast {
namespace {

const std::map<std::string, Dtype>& precisions() {
  static const std::map<std::string, Dtype> known = {{"bf16", Dtype::bf16},
                                                     {"fp16", Dtype::fp16},
                                                     {"fp32", Dtype::fp32},
                                                     {"fp8", Dtype::fp8},
                                                     {"tf32", Dtype::tf32}};
  return known;
}

std::vector<std::int64_t> read_shape(TableReader& reader) {
  std::vector<std::int64_t> shape;
  const Value* value = reader.raw("shape");
  if (value == nullptr) return shape;
  if (value->kind != Value::Kind::array) {
    reader.fault("shape", "shape must be a list of whole numbers, not " + std::string(kind_name(value->kind)),
                 "for example shape = [1024, 1024]");
    return shape;
  }
  double product = 1;
  for (const Value& extent : value->array) {
    if (extent.kind != Value::Kind::integer || extent.integer < 1) {
      reader.fault("shape",
                   "every extent of a shape must be a whole number of at least 1, not " + extent.to_text());
      return {};
    }
    shape.push_back(extent.integer);
    product *= static_cast<double>(extent.integer);
  }
  if (shape.empty()) reader.fault("shape", "a shape must have at least one extent", "a scalar is [1]");
  if (product > 1e13) {
    reader.fault("shape", "a tensor of more than 1e13 elements is not a parameter");
    return {};
  }
  return shape;
}

void read_parameters(TableReader& layer, const std::string& path, Layer& out,
                     std::vector<Diagnostic>& faults) {
  if (!layer.has("parameters")) return;
  const Value* list = layer.raw("parameters");
  if (list->kind == Value::Kind::array && list->array.empty()) return;
  const Value* tables = layer.tables("parameters");
  if (tables == nullptr) return;
  for (std::size_t i = 0; i < tables->array.size(); ++i) {
    TableReader reader(tables->array[i], path + ".parameters[" + std::to_string(i) + "]", faults);
    reader.require("name", "text, for example \"weight\"");
    reader.require("shape", "a list of whole numbers, for example [1024, 1024]");
    Parameter parameter;
    parameter.name = reader.string("name").value_or("");
    parameter.shape = read_shape(reader);
    reader.finish();
    out.parameters.push_back(std::move(parameter));
  }
}

Layer read_layer(const Value& table, const std::string& path, double samples, Dtype precision,
                 std::vector<Diagnostic>& faults) {
  TableReader reader(table, path, faults);
  reader.require("name", "text, for example \"fc1\"");
  reader.require("forward_time", "a time per micro-batch, for example \"1.2 ms\"");
  reader.require("backward_time", "a time per micro-batch, for example \"2.4 ms\"");
  Layer layer;
  layer.name = reader.string("name").value_or("");
  layer.forward_time = reader.seconds("forward_time");
  layer.backward_time = reader.seconds("backward_time");
  layer.gradient_ready_time = reader.seconds("gradient_ready_time");
  if (layer.gradient_ready_time && layer.backward_time && *layer.gradient_ready_time > *layer.backward_time) {
    reader.fault("gradient_ready_time",
                 path + ".gradient_ready_time is later than the end of the layer's backward",
                 "it counts from the start of the layer's backward and is at most backward_time");
  }
  layer.activation_bytes = reader.bytes("activation_bytes");
  layer.buffers = reader.bytes("buffers_bytes").value_or(Bytes());
  if (const auto output = reader.bytes("output_bytes")) {
    layer.output_elements = output->value / samples / element_size(precision);
  }
  read_parameters(reader, path, layer, faults);
  reader.finish();
  return layer;
}

}  // namespace

Model read_workload(std::string_view text, const std::string& file) {
  const Value document = parse_toml(text, file);
  std::vector<Diagnostic> faults;
  TableReader root(document, "", faults);
  root.require("workload",
               "a table [workload] with name, samples_per_micro_batch, precision and optimizer_time");
  root.require("layer", "[[layer]] tables in forward order");

  Model model;
  model.family = "workload";
  MeasuredWorkload measured;
  measured.samples_per_micro_batch = 1;
  Dtype precision = Dtype::fp32;
  if (const Value* table = root.table("workload")) {
    TableReader reader(*table, "workload", faults);
    reader.require("name", "text");
    reader.require("samples_per_micro_batch", "a whole number of at least 1");
    reader.require("precision", "one of bf16, fp16, fp32, fp8, tf32");
    reader.require("optimizer_time", "a time per step, for example \"43 ms\"");
    model.name = reader.string("name").value_or("");
    measured.samples_per_micro_batch =
        reader.integer("samples_per_micro_batch", 1, 1'000'000'000).value_or(1);
    std::vector<std::string> names;
    for (const auto& [name, type] : precisions()) names.push_back(name);
    measured.precision = reader.choice("precision", names).value_or("fp32");
    precision = precisions().at(measured.precision);
    measured.optimizer_time = reader.seconds("optimizer_time").value_or(Seconds());
    measured.bucketing_time = reader.seconds("bucketing_time").value_or(Seconds());
    measured.source = reader.string("source").value_or("");
    measured.measured_on = reader.string("measured_on").value_or("");
    reader.finish();
  }
  if (const Value* layers = root.has("layer") ? root.tables("layer") : nullptr) {
    for (std::size_t i = 0; i < layers->array.size(); ++i) {
      model.layers.push_back(read_layer(layers->array[i], "layer[" + std::to_string(i) + "]",
                                        static_cast<double>(measured.samples_per_micro_batch), precision,
                                        faults));
      model.layers.back().first_equal = static_cast<int>(i);  // equal parameters need not take equal times
    }
    if (layers->array.empty()) root.fault("layer", "a workload needs at least one [[layer]]");
  }
  root.finish();
  if (!faults.empty()) throw ScenarioError(std::move(faults));
  model.measured = std::move(measured);
  model.active_parameter_count = model.parameter_count();
  return model;
}

}  // namespace stepcast
