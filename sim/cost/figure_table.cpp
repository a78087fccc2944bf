#include "sim/cost/figure_table.hpp"

#include <utility>

namespace stepcast {
namespace {

/// Nothing, and a fault at the figure's value, when it is zero.
template <class Rate>
std::optional<Rate> above_zero(TableReader& figure, std::optional<Rate> value) {
  if (value && !(value->value > 0)) {
    figure.fault("value", "a rate must be above zero");
    value.reset();
  }
  return value;
}

}  // namespace

FigureTable::FigureTable(const Value& table, std::string path, std::vector<Diagnostic>& faults)
    : values_(table), path_(std::move(path)), faults_(faults), section_(table, path_, faults) {}

template <class T, class Read>
std::optional<Figure<T>> FigureTable::figure(std::string_view key, Read read) {
  const Value* const value = section_.raw(key);
  if (value == nullptr) return {};
  if (value->kind != Value::Kind::table) {
    faults_.push_back(
        {value->place,
         path(key) + " must be a figure with its origin, not " + std::string(kind_name(value->kind)),
         "write { value = " + value->to_text() + ", source = \"where it comes from\" }"});
    return {};
  }
  TableReader reader(*value, path(key), faults_);
  reader.require("value", "the figure itself");
  reader.require("source", "where the figure comes from");
  Figure<T> found;
  const std::optional<T> figure_value = read(reader);
  const std::optional<std::string> source = reader.string("source");
  if (source) found.source = *source;
  if (source && source->empty()) reader.fault("source", path(key) + ".source is empty");
  if (const auto measured_on = reader.string("measured_on")) found.measured_on = *measured_on;
  if (const auto spread = reader.number("spread", 0, 10)) found.spread = *spread;
  reader.finish();
  if (!figure_value || !source) return {};
  found.value = *figure_value;
  return found;
}

bool FigureTable::share(std::string_view key, Figure<double>& into, double minimum, double maximum) {
  auto found = figure<double>(key, [&](TableReader& t) { return t.number("value", minimum, maximum); });
  if (found) into = *std::move(found);
  return found.has_value();
}

bool FigureTable::rate(std::string_view key, Figure<BytesPerSecond>& into) {
  auto found = figure<BytesPerSecond>(key, [](TableReader& t) { return above_zero(t, t.rate("value")); });
  if (found) into = *std::move(found);
  return found.has_value();
}

bool FigureTable::flops(std::string_view key, Figure<FlopPerSecond>& into) {
  auto found = figure<FlopPerSecond>(key, [](TableReader& t) { return above_zero(t, t.flops("value")); });
  if (found) into = *std::move(found);
  return found.has_value();
}

bool FigureTable::time(std::string_view key, Figure<Seconds>& into) {
  auto found = figure<Seconds>(key, [](TableReader& t) { return t.seconds("value"); });
  if (found) into = *std::move(found);
  return found.has_value();
}

bool FigureTable::size(std::string_view key, Figure<Bytes>& into) {
  auto found = figure<Bytes>(key, [](TableReader& t) { return t.bytes("value"); });
  if (found) into = *std::move(found);
  return found.has_value();
}

bool FigureTable::count(std::string_view key, int& into, int minimum, int maximum) {
  const auto found =
      figure<std::int64_t>(key, [&](TableReader& t) { return t.integer("value", minimum, maximum); });
  if (found) into = static_cast<int>(found->value);
  return found.has_value();
}

bool FigureTable::number(std::string_view key, double& into, double minimum, double maximum) {
  const auto found = figure<double>(key, [&](TableReader& t) { return t.number("value", minimum, maximum); });
  if (found) into = found->value;
  return found.has_value();
}

bool FigureTable::truth(std::string_view key, bool& into) {
  const auto found = figure<bool>(key, [](TableReader& t) { return t.boolean("value"); });
  if (found) into = found->value;
  return found.has_value();
}

bool FigureTable::words(std::string_view key, std::vector<std::string>& into,
                        const std::vector<std::string>& known) {
  auto found = figure<std::vector<std::string>>(key, [&](TableReader& t) {
    auto list = t.strings("value");
    if (list && list->empty()) {
      t.fault("value", "the list is empty", suggest("", known));
      list.reset();
    }
    if (list) {
      for (const std::string& word : *list) {
        bool is_known = false;
        for (const std::string& one : known) is_known = is_known || one == word;
        if (!is_known) t.fault("value", "unknown \"" + word + "\"", suggest(word, known));
      }
    }
    return list;
  });
  if (found) into = std::move(found->value);
  return found.has_value();
}

}  // namespace stepcast
