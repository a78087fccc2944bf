#include "sim/report/wording.hpp"

#include <algorithm>
#include <cstdio>

#include "base/print.hpp"

namespace stepcast {

std::string setting_text(const PointReport& point, const std::string& key) {
  for (const auto& [name, value] : point.settings) {
    if (name == key) return value.to_text();
  }
  return "";
}

std::vector<std::string> varying_keys(const Report& report) {
  std::vector<std::string> keys;
  for (const std::string& key : report.swept) {
    const bool varies =
        std::any_of(report.points.begin(), report.points.end(), [&](const PointReport& point) {
          return setting_text(point, key) != setting_text(report.points.front(), key);
        });
    if (varies) keys.push_back(key);
  }
  return keys;
}

double throughput(const PointReport& point) { return point.tokens_per_s.value_or(point.samples_per_s); }

std::string print_throughput(const PointReport& point) {
  return print_count(throughput(point)) + (point.tokens_per_s ? " tokens/s" : " samples/s");
}

std::string plural(std::size_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::string print_times(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, ratio < 0.1 ? "%.3fx" : "%.2fx", ratio);
  return text;
}

std::string words_of(const std::string& key) {
  std::string words = key.substr(key.rfind('.') + 1);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

bool is_plain_word(const std::string& text) {
  return text.find_first_not_of("0123456789.") != std::string::npos && text != "true" && text != "false";
}

/// "4 nodes, infiniband-400g, fsdp, gradient accumulation steps 16".
std::string label(const Report& report, const PointReport& point) {
  std::string text;
  for (const std::string& key : varying_keys(report)) {
    const std::string value = setting_text(point, key);
    if (!text.empty()) text += ", ";
    if (key == "cluster.nodes") {
      text += value + (value == "1" ? " node" : " nodes");
    } else {
      text += is_plain_word(value) ? value : words_of(key) + " " + value;
    }
  }
  return text;
}

}  // namespace stepcast
