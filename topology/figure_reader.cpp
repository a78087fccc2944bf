#include "topology/figure_reader.hpp"

#include <algorithm>
#include <tuple>

namespace stepcast {

FigureReader::FigureReader(const Value& table, std::string path, std::vector<Diagnostic>& faults)
    : values_(table), path_(std::move(path)), faults_(faults), table_(table, path_, faults) {}

std::string FigureReader::full(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

template <class Read>
auto FigureReader::read(std::string_view key, Read reader_call) {
  const Value* figure = table_.raw(key);
  if (figure == nullptr || figure->kind != Value::Kind::table) return reader_call(table_, key);
  TableReader inner(*figure, full(key), faults_);
  inner.require("value", "the figure itself");
  inner.require("source", "text that says where the figure comes from");
  auto result = reader_call(inner, std::string_view("value"));
  (void)inner.string("source");
  (void)inner.string("measured_on");
  (void)inner.number("spread", 0, 10);
  inner.finish();
  return result;
}

std::optional<std::int64_t> FigureReader::integer(std::string_view key, std::int64_t minimum,
                                                  std::int64_t maximum) {
  return read(key,
              [&](TableReader& in, std::string_view name) { return in.integer(name, minimum, maximum); });
}

std::optional<double> FigureReader::number(std::string_view key, double minimum, double maximum) {
  return read(key, [&](TableReader& in, std::string_view name) { return in.number(name, minimum, maximum); });
}

std::optional<bool> FigureReader::boolean(std::string_view key) {
  return read(key, [](TableReader& in, std::string_view name) { return in.boolean(name); });
}

std::optional<std::string> FigureReader::text(std::string_view key) {
  return read(key, [](TableReader& in, std::string_view name) { return in.string(name); });
}

std::optional<std::string> FigureReader::choice(std::string_view key, const std::vector<std::string>& known) {
  return read(key, [&](TableReader& in, std::string_view name) { return in.choice(name, known); });
}

std::optional<Seconds> FigureReader::seconds(std::string_view key) {
  return read(key, [](TableReader& in, std::string_view name) { return in.seconds(name); });
}

std::optional<BytesPerSecond> FigureReader::rate(std::string_view key) {
  return read(key, [&](TableReader& in, std::string_view name) {
    std::optional<BytesPerSecond> found = in.rate(name);
    if (found && !(found->value > 0)) {
      in.fault(name, full(key) + " must be above zero", "leave the key out where there is no such link");
      found.reset();
    }
    return found;
  });
}

const Value* FigureReader::raw(std::string_view key) {
  return read(key, [](TableReader& in, std::string_view name) { return in.raw(name); });
}

std::optional<std::vector<int>> FigureReader::integers(std::string_view key, int minimum, int maximum) {
  const Value* list = raw(key);
  if (list == nullptr) return {};
  const std::string range = std::to_string(minimum) + " to " + std::to_string(maximum);
  if (list->kind != Value::Kind::array) {
    faults_.push_back(
        {list->place, full(key) + " must be a list of whole numbers", "for example [0, 1, 2, 3]"});
    return {};
  }
  std::vector<int> numbers;
  bool sound = true;
  for (const Value& item : list->array) {
    if (item.kind == Value::Kind::integer && item.integer >= minimum && item.integer <= maximum) {
      numbers.push_back(static_cast<int>(item.integer));
      continue;
    }
    sound = false;
    faults_.push_back(
        {item.place, full(key) + " holds " + item.to_text(), "expected whole numbers " + range});
  }
  if (!sound) return {};
  return numbers;
}

std::string FigureReader::source(std::string_view key) const {
  const Value* figure = values_.find(key);
  const Value* text = figure == nullptr ? nullptr : figure->find("source");
  return text == nullptr ? std::string() : text->string;
}

SourcePlace FigureReader::place(std::string_view key) const {
  const Value* figure = values_.find(key);
  if (figure == nullptr) return values_.place;
  const Value* value = figure->find("value");
  return value == nullptr ? figure->place : value->place;
}

void throw_faults(std::vector<Diagnostic> faults) {
  if (faults.empty()) return;
  std::stable_sort(faults.begin(), faults.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
  });
  throw ScenarioError(std::move(faults));
}

}  // namespace stepcast
