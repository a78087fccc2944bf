#include "base/quantity.hpp"

#include <charconv>
#include <cmath>
#include <utility>

namespace stepcast {
namespace {

using Unit = std::pair<std::string_view, double>;

/// Number and unit, with or without blanks between; underscores and signs are not numbers.
template <std::size_t N>
std::optional<double> parse(std::string_view text, const Unit (&units)[N]) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  double number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || text.front() == '-') return {};
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const Unit& known : units) {
    if (known.first == unit) return number * known.second;
  }
  return {};
}

constexpr double ki = 1024, mi = ki * ki, gi = mi * ki, ti = gi * ki;

constexpr Unit byte_units[] = {{"B", 1},     {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
                               {"TB", 1e12}, {"KiB", ki}, {"MiB", mi}, {"GiB", gi}, {"TiB", ti}};
constexpr Unit second_units[] = {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6},
                                 {"ms", 1e-3},  {"s", 1},     {"min", 60},  {"h", 3600}};
constexpr Unit rate_unit_table[] = {
    {"b/s", 1.0 / 8},   {"kb/s", 1e3 / 8},   {"Mb/s", 1e6 / 8},   {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8},
    {"bit/s", 1.0 / 8}, {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}, {"B/s", 1},        {"kB/s", 1e3},
    {"MB/s", 1e6},      {"GB/s", 1e9},       {"TB/s", 1e12},      {"KiB/s", ki},     {"MiB/s", mi},
    {"GiB/s", gi},      {"TiB/s", ti}};
constexpr Unit flop_units[] = {{"FLOP/s", 1}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
constexpr Unit element_units[] = {
    {"elements", 1}, {"kelements", 1e3}, {"Melements", 1e6}, {"Gelements", 1e9}};

template <class Q>
std::optional<Q> wrap(std::optional<double> number) {
  if (!number) return {};
  return Q(*number);
}

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) { return wrap<Bytes>(parse(text, byte_units)); }
std::optional<Seconds> parse_seconds(std::string_view text) {
  return wrap<Seconds>(parse(text, second_units));
}
std::optional<BytesPerSecond> parse_rate(std::string_view text) {
  return wrap<BytesPerSecond>(parse(text, rate_unit_table));
}
std::optional<FlopPerSecond> parse_flops(std::string_view text) {
  return wrap<FlopPerSecond>(parse(text, flop_units));
}
std::optional<double> parse_elements(std::string_view text) { return parse(text, element_units); }

}  // namespace stepcast
