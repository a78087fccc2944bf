#include "calibrate/verify/log_reader.hpp"

#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>

namespace stepcast {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Where the text goes on after a key that is a word of its own.
std::optional<std::string_view> after(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    const bool option = at >= 2 && text.substr(at - 2, 2) == "--";
    const bool begins = at == 0 || option || !is_word(text[at - 1]) || !is_word(key.front());
    const bool ends = end == text.size() || !is_word(text[end]) || !is_word(key.back());
    if (begins && ends) return text.substr(end);
  }
  return std::nullopt;
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

void StepReader::add(LoggedStep step) {
  const bool again =
      steps_.size() > 1 && step.number <= steps_.front().number && step.number < steps_.back().number;
  if (again) {
    notes_ = {"the log holds several runs, or one that began again: the last one counts, from line " +
              std::to_string(step.line) + " on"};
    forget();
  }
  if (seen_.insert(step.number).second) steps_.push_back(std::move(step));
}

std::vector<std::unique_ptr<StepReader>> step_readers() {
  std::vector<std::unique_ptr<StepReader>> readers;
  for (const auto make : {megatron_reader, torchtitan_reader, llm_c_reader, nanogpt_reader, mlperf_reader,
                          deepspeed_reader, hugging_face_reader})
    readers.push_back(make());
  return readers;
}

std::optional<double> leading_number(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool parts_thousands = text[i] == ',' && i > 0 && is_digit(text[i - 1]) && i + 3 < text.size() &&
                                 is_digit(text[i + 1]) && is_digit(text[i + 2]) && is_digit(text[i + 3]) &&
                                 digits.find('.') == std::string::npos;
    if (parts_thousands) continue;
    if (!is_digit(text[i]) && std::string_view("+-.eE").find(text[i]) == std::string_view::npos) break;
    digits += text[i];
  }
  double value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc() || end == digits.data() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> number_after(std::string_view text, std::string_view key) {
  const auto rest = after(text, key);
  if (!rest) return std::nullopt;
  const std::size_t start = rest->find_first_not_of(" \t.:='\"(");
  return start == std::string_view::npos ? std::nullopt : leading_number(rest->substr(start));
}

std::optional<double> clock_of(std::string_view text) {
  // "2023-07-25 21:03:17"
  constexpr std::string_view shape = "dddd-dd-dd dd:dd:dd";
  for (std::size_t at = 0; at + shape.size() <= text.size(); ++at) {
    bool fits = at == 0 || !is_digit(text[at - 1]);
    for (std::size_t i = 0; fits && i < shape.size(); ++i) {
      const char c = text[at + i];
      fits = shape[i] == 'd' ? is_digit(c) : c == shape[i] || (shape[i] == ' ' && c == 'T');
    }
    if (!fits) continue;
    const auto field = [&](std::size_t first, std::size_t length) {
      return *whole_number(text.substr(at + first, length));
    };
    const std::chrono::year_month_day day{std::chrono::year(field(0, 4)),
                                          std::chrono::month(static_cast<unsigned>(field(5, 2))),
                                          std::chrono::day(static_cast<unsigned>(field(8, 2)))};
    if (!day.ok()) return std::nullopt;
    double seconds = 86400.0 * static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count()) +
                     3600 * field(11, 2) + 60 * field(14, 2) + field(17, 2);
    const std::string_view rest = text.substr(at + shape.size());
    if (rest.size() > 1 && (rest[0] == ',' || rest[0] == '.') && is_digit(rest[1]))
      seconds += leading_number("0." + std::string(rest.substr(1, 6))).value_or(0);
    return seconds;
  }
  return std::nullopt;
}

std::optional<Bytes> memory_after(std::string_view text, std::string_view key) {
  const auto rest = after(text, key);
  if (!rest) return std::nullopt;
  const auto value = number_after(text, key);
  if (!value) return std::nullopt;
  const std::size_t unit = rest->find_first_of("KMGT");
  if (unit == std::string_view::npos) return std::nullopt;
  const std::size_t power = std::string_view("KMGT").find((*rest)[unit]) + 1;
  return Bytes(*value * std::pow(1024.0, static_cast<double>(power)));
}

}  // namespace stepcast
