#include "base/print.hpp"

#include <cmath>
#include <cstdio>
#include <string_view>

namespace stepcast {
namespace {

/// Three significant digits, no exponent for 0.001 .. 9999.
std::string three_digits(double number) {
  char text[32];
  const double size = std::fabs(number);
  // 999.5 and 99.95 would round into the next decade and show a digit too many.
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f", decimals, number);
  return text;
}

struct Scale {
  double factor;
  const char* unit;
};

template <std::size_t N>
std::string scaled(double number, const Scale (&scales)[N]) {  // scales from small to large
  if (!std::isfinite(number)) return "-";
  std::size_t i = 0;
  while (i + 1 < N && std::fabs(number) >= 0.9995 * scales[i + 1].factor) ++i;
  return three_digits(number / scales[i].factor) + " " + scales[i].unit;
}

constexpr double ki = 1024;
constexpr Scale times[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}};
constexpr Scale sizes[] = {
    {1, "B"}, {ki, "KiB"}, {ki * ki, "MiB"}, {ki * ki * ki, "GiB"}, {ki * ki * ki * ki, "TiB"}};
constexpr Scale rates[] = {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}};

}  // namespace

std::string print_time(Seconds time) {
  if (time.value == 0) return "0 s";
  // Seconds stay seconds up to two minutes: "92.0 s" reads better than "1.53 min".
  if (time.value >= 1 && time.value < 120) return three_digits(time.value) + " s";
  return scaled(time.value, times);
}

std::string print_size(Bytes size) { return size.value == 0 ? "0 B" : scaled(size.value, sizes); }

std::string print_rate(BytesPerSecond rate) { return rate.value == 0 ? "0 B/s" : scaled(rate.value, rates); }

std::string print_share(double share) {
  if (!std::isfinite(share)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

std::string print_count(double count) {
  if (!std::isfinite(count)) return "-";
  constexpr Scale scales[] = {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}};
  std::string text = scaled(count, scales);
  if (text.back() == ' ') text.pop_back();
  return text;
}

std::string print_integer(double count) {
  if (!std::isfinite(count)) return "-";
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.0f", count);
  const std::string_view plain(digits);
  const std::size_t first = plain.front() == '-' ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (i > first && (plain.size() - i) % 3 == 0) text += ',';
    text += plain[i];
  }
  return text;
}

}  // namespace stepcast
