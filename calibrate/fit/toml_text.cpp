#include "calibrate/fit/toml_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/diagnostic.hpp"

namespace stepcast::toml {

namespace {

using Unit = std::pair<double, const char*>;

/// In the largest unit of which there is at least one, else in the smallest. Units descend.
template <std::size_t N>
std::string in_units(double value, const std::array<Unit, N>& units) {
  const Unit* best = &units.back();
  for (const Unit& unit : units) {
    if (value < unit.first) continue;
    best = &unit;
    break;
  }
  return "\"" + number(value / best->first) + " " + best->second + "\"";
}

}  // namespace

std::string number(double value) {
  // TOML knows infinity, but no key of a profile takes it.
  STEPCAST_CHECK(std::isfinite(value), "a profile holds finite numbers");
  std::array<char, 64> buffer{};
  constexpr int digits = 11;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, digits);
  STEPCAST_CHECK(error == std::errc{}, "a number of eleven digits fits 64 characters");
  return {buffer.data(), end};
}

std::string text(const std::string& content) {
  std::string quoted = "\"";
  for (const char c : content) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "\"";
}

std::string time(Seconds value) {
  return in_units(value.value, std::array<Unit, 3>{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}}});
}

std::string size(Bytes value) {
  constexpr double ki = 1024;
  for (const auto& [unit, name] :
       std::array<Unit, 3>{{{ki * ki * ki, "GiB"}, {ki * ki, "MiB"}, {ki, "KiB"}}}) {
    const double count = value.value / unit;
    if (count >= 1 && count == std::floor(count)) return "\"" + number(count) + " " + name + "\"";
  }
  return "\"" + number(value.value) + " B\"";
}

std::string rate(BytesPerSecond value) {
  return in_units(value.value, std::array<Unit, 3>{{{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}}});
}

std::string line_rate(BytesPerSecond value) {
  return in_units(8 * value.value, std::array<Unit, 2>{{{1e9, "Gb/s"}, {1e6, "Mb/s"}}});
}

std::string flops(FlopPerSecond value) {
  return in_units(value.value, std::array<Unit, 2>{{{1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}}});
}

std::string parameter(FitParameter::Unit unit, double value) {
  // An interval may be open: the smallest slope that the measurements allow is none.
  if (!std::isfinite(value)) return "\"unbounded\"";
  switch (unit) {
    case FitParameter::Unit::time:
      return time(Seconds(value));
    case FitParameter::Unit::size:
      return size(Bytes(std::round(value)));
    case FitParameter::Unit::rate:
      return rate(BytesPerSecond(value));
    case FitParameter::Unit::flops:
      return flops(FlopPerSecond(value));
    case FitParameter::Unit::factor:
      break;
  }
  return number(value);
}

}  // namespace stepcast::toml
