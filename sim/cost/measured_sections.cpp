#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/quantity.hpp"
#include "base/table_reader.hpp"
#include "sim/cost/profile_reader.hpp"

namespace stepcast {

namespace {

const std::vector<std::string> dtype_words{"fp32", "tf32", "bf16", "fp16", "fp8"};
const std::vector<std::string> passes{"forward", "backward"}, kernel_passes{"forward", "backward", "both"};

/// Of the operators that are found by the last word of their names, and of what has neither pass nor type.
const std::vector<std::string> operations{"norm",      "bias",          "activation", "residual",
                                          "embedding", "cross_entropy", "copy",       "adamw"};
bool is_plain(const std::string& operation) { return operation == "copy" || operation == "adamw"; }

Dtype dtype_of(std::string_view word) {
  constexpr std::array types{Dtype::fp32, Dtype::tf32, Dtype::bf16, Dtype::fp16, Dtype::fp8};
  for (std::size_t i = 0; i < types.size(); ++i)
    if (dtype_words[i] == word) return types[i];
  return Dtype::fp32;
}

Pass pass_of(std::string_view word) { return word == "backward" ? Pass::backward : Pass::forward; }

/// The time that ends a point; nothing, and a fault, when it is none.
std::optional<Seconds> point_time(const Value& entry, std::vector<Diagnostic>& faults) {
  const auto time = entry.kind == Value::Kind::string ? parse_seconds(entry.string) : std::nullopt;
  if (time && *time > Seconds(0)) return time;
  faults.push_back(
      {entry.place, entry.to_text() + " is no time above zero", "units: " + std::string(seconds_units)});
  return {};
}

/// `count` whole numbers above zero at the start of a point; nothing, and a fault, when they are not.
bool dimensions(const Value& point, std::size_t count, std::vector<double>& into,
                std::vector<Diagnostic>& faults) {
  into.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const Value& number = point.array[i];
    if (number.kind != Value::Kind::integer || number.integer < 1 || number.integer > 1'000'000'000) {
      faults.push_back({number.place, number.to_text() + " is no whole number from 1 to 1000000000",
                        "dimensions of the measured shape"});
      return false;
    }
    into.push_back(static_cast<double>(number.integer));
  }
  return true;
}

/// The list under `points` when it is one, each entry a list of `size` values; faults for those that are not.
std::vector<const Value*> point_list(TableReader& table, std::size_t size, const std::string& example,
                                     std::vector<Diagnostic>& faults) {
  std::vector<const Value*> points;
  const Value* const list = table.raw("points");
  if (list == nullptr) return points;
  if (list->kind != Value::Kind::array || list->array.empty()) {
    table.fault("points", "points must be a list of measurements", "for example [" + example + "]");
    return points;
  }
  for (const Value& entry : list->array) {
    if (entry.kind == Value::Kind::array && entry.array.size() == size) {
      points.push_back(&entry);
    } else {
      faults.push_back({entry.place, "a point must be a list of " + std::to_string(size) + " values",
                        "for example " + example});
    }
  }
  return points;
}

std::vector<GemmPoint> read_gemm_points(TableReader& table, std::vector<Diagnostic>& faults) {
  std::vector<GemmPoint> points;
  std::set<std::tuple<double, double, double, GemmLayout>> seen;
  std::vector<double> shape;
  for (const Value* const entry : point_list(table, 5, R"([4096, 1024, 1024, "nt", "1.2 ms"])", faults)) {
    const Value& word = entry->array[3];
    std::optional<GemmLayout> layout;
    for (const GemmLayout one : {GemmLayout::nt, GemmLayout::nn, GemmLayout::tn})
      if (word.kind == Value::Kind::string && word.string == name_of(one)) layout = one;
    if (!layout)
      faults.push_back({word.place, word.to_text() + " is no layout of operands",
                        "\"nt\" (forward), \"nn\" (input gradient) or \"tn\" (weight gradient)"});
    const bool sound = dimensions(*entry, 3, shape, faults);
    const auto time = point_time(entry->array[4], faults);
    if (!layout || !sound || !time) continue;
    if (!seen.emplace(shape[0], shape[1], shape[2], *layout).second) {
      faults.push_back({entry->place, "this shape was there before", "one time for each shape and layout"});
      continue;
    }
    points.push_back({shape[0], shape[1], shape[2], *layout, *time});
  }
  return points;
}

std::vector<AttentionPoint> read_attention_points(TableReader& table, std::vector<Diagnostic>& faults) {
  std::vector<AttentionPoint> points;
  std::set<std::vector<double>> seen;
  std::vector<double> shape;
  for (const Value* const entry : point_list(table, 5, R"([8, 12, 64, 1024, "2 ms"])", faults)) {
    const bool sound = dimensions(*entry, 4, shape, faults);
    const auto time = point_time(entry->array[4], faults);
    if (!sound || !time) continue;
    if (!seen.insert({shape[0] * shape[1], shape[2], shape[3]}).second) {
      faults.push_back({entry->place, "this shape was there before",
                        "one time for each product of samples and heads, head size and length"});
      continue;
    }
    points.push_back({static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]),
                      static_cast<int>(shape[3]), *time});
  }
  return points;
}

}  // namespace

void MeasuredSections::read(const Value& document, const std::string& file) {
  for (const char* const section : {"gemm", "kernel", "attention"}) {
    const Value* const tables = document.find(section);
    if (tables == nullptr || tables->kind != Value::Kind::array) continue;
    std::set<std::string> seen;
    for (const Value& entry : tables->array)
      if (entry.kind == Value::Kind::table) read_table(section, entry, file, seen);
  }
}

void MeasuredSections::read_table(const std::string& section, const Value& entry, const std::string& file,
                                  std::set<std::string>& seen) {
  const std::size_t faults_before = faults_.size();
  TableReader table(entry, section, faults_);
  for (const char* key : {"device", "source", "points"}) table.require(key, "what the measurement is of");
  const std::string device = table.string("device").value_or("");
  const std::string software = table.string("software").value_or("");
  (void)table.string("source");
  (void)table.string("measured_on");
  (void)table.number("spread", 0, 10);
  const std::string operation =
      section == "kernel" ? table.choice("operation", operations).value_or("")
      : section == "attention"
          ? table.choice("kernel", {"eager", "flash", "flash3", "efficient"}).value_or("")
          : "";
  if (section == "kernel") table.require("operation", "the operator that was measured");
  if (section == "attention") table.require("kernel", "the attention kernel that was measured");
  const bool plain = is_plain(operation);
  if (!plain) table.require("dtype", "the type of the operands");
  if (!plain && section != "gemm") table.require("pass", "forward or backward");
  Dtype dtype = Dtype::fp32;
  Pass pass = Pass::forward;
  std::string word;
  if (!plain) {
    dtype = dtype_of(table.choice("dtype", dtype_words).value_or("fp32"));
    if (section != "gemm")
      word = table.choice("pass", section == "kernel" ? kernel_passes : passes).value_or("forward");
    pass = pass_of(word);
  }

  OperatorTimes found;
  if (section == "gemm") found.gemm[dtype] = read_gemm_points(table, faults_);
  if (section == "kernel") {
    auto points = read_points(table, "points", false, faults_);
    if (word == "both") {
      found.both_passes[{operation, dtype}] = std::move(points);
    } else {
      found.kernel[{operation, pass, dtype}] = std::move(points);
    }
  }
  if (section == "attention")
    found.attention[{operation, pass, dtype}] = read_attention_points(table, faults_);
  table.finish();

  const std::string which = device + "\n" + software + "\n" + operation + "\n" + word + "\n" +
                            std::to_string(static_cast<int>(dtype));
  if (faults_.size() == faults_before && !seen.insert(which).second) {
    faults_.push_back({table.place(), "a second [[" + section + "]] of the same measurement",
                       "put all its points into one table"});
  }
  if (faults_.size() != faults_before) return;
  if (device != gpu_ || (!software.empty() && software != software_)) {
    const bool other_device = device != gpu_;
    const std::string note = file + ": [[" + section + "]] of \"" + (other_device ? device : software) +
                             "\" was not used, this scenario has \"" + (other_device ? gpu_ : software_) +
                             "\"";
    if (noted_.insert(note).second) notes_.push_back(note);
    return;
  }
  // Later files replace what earlier ones say of the same.
  for (auto& [key, points] : found.gemm) into_.gemm[key] = std::move(points);
  for (auto& [key, points] : found.kernel) into_.kernel[key] = std::move(points);
  for (auto& [key, points] : found.both_passes) into_.both_passes[key] = std::move(points);
  for (auto& [key, points] : found.attention) into_.attention[key] = std::move(points);
}

}  // namespace stepcast
