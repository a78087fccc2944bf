#include "calibrate/import/trace_reader.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "calibrate/import/json_stream.hpp"

namespace stepcast {
namespace {

/// Microseconds in decimal digits as whole nanoseconds, without a detour over a double: 1711964646000000.123
/// has more digits than it holds.
std::int64_t nanoseconds_of(std::string_view text) {
  std::int64_t whole = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), whole);
  constexpr std::int64_t most = INT64_MAX / 4000;  // sums and differences of two stay in range
  if (fault != std::errc() || whole > most || whole < -most) return 0;
  const char* const last = text.data() + text.size();
  if (end != last && *end != '.') {  // an exponent
    double value = 0;
    (void)std::from_chars(text.data(), last, value);
    return std::abs(value) < static_cast<double>(most) ? std::llround(value * 1000) : 0;
  }
  std::int64_t fraction = 0, digit = 100;
  for (const char* c = end; c != last && ++c != last && digit > 0 && *c >= '0' && *c <= '9'; digit /= 10)
    fraction += digit * (*c - '0');
  return whole * 1000 + (text.starts_with('-') ? -fraction : fraction);
}

std::int64_t integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() ? value : -1;
}

double real_of(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && std::isfinite(value) ? value : -1;
}

/// "[0, 1, 2]".
std::vector<int> numbers_in(std::string_view text) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < text.size();) {
    int number = 0;
    const auto [end, fault] = std::from_chars(text.data() + i, text.data() + text.size(), number);
    if (fault == std::errc()) {
      numbers.push_back(number);
      i = static_cast<std::size_t>(end - text.data());
    } else {
      ++i;
    }
  }
  return numbers;
}

/// Follows the JSON text; every value arrives with the keys that lead to it.
class Handler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
 public:
  Handler(TraceFacts& facts, const std::function<bool(const TraceEvent&)>& on_event)
      : facts_(facts), on_event_(on_event) {}

  bool Null() { return value(""); }
  bool Bool(bool) { return value(""); }
  bool Double(double) { return value(""); }  // NaN and infinities only: numbers come as text
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) { return value({text, length}); }
  bool String(const char* text, rapidjson::SizeType length, bool) { return value({text, length}); }

  bool Key(const char* text, rapidjson::SizeType length, bool) {
    key_.assign(text, length);
    return true;
  }
  bool StartObject() {
    open(false);
    if (in_events_ && levels_.size() == events_level_ + 1) event_ = TraceEvent{};
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    const bool whole = in_events_ && levels_.size() == events_level_ + 1;
    levels_.pop_back();
    if (!whole) return true;
    ++facts_.events;
    return on_event_(event_);
  }
  bool StartArray() {
    if (!in_events_ && (levels_.empty() || (levels_.size() == 1 && key_ == "traceEvents"))) {
      in_events_ = facts_.has_events = true;
      events_level_ = levels_.size() + 1;
    }
    if (levels_.size() == 1 && !in_events_ && key_ == "nodes") facts_.execution_trace = true;
    open(true);
    if (in_event_arguments()) start_list();
    return true;
  }
  bool EndArray(rapidjson::SizeType) {
    levels_.pop_back();
    if (in_events_ && levels_.size() < events_level_) {
      in_events_ = false;
      facts_.whole_events = true;
    }
    return true;
  }

 private:
  struct Level {
    std::string key;  ///< under which it stands
    bool list{};
  };

  void open(bool list) {
    levels_.push_back({std::move(key_), list});
    key_.clear();
  }

  /// Inside "args" of an event (and deeper).
  [[nodiscard]] bool in_event_arguments() const {
    return in_events_ && levels_.size() > events_level_ + 1 && levels_[events_level_ + 1].key == "args";
  }

  bool value(std::string_view text) {
    if (in_events_) {
      if (levels_.size() == events_level_ + 1) {
        event_field(text);
      } else if (in_event_arguments()) {
        argument(text);
      }
    } else {
      fact(text);
    }
    return true;
  }

  void event_field(std::string_view text) {
    if (key_ == "ph") {
      event_.phase = text.empty() ? '\0' : text.front();
    } else if (key_ == "cat") {
      event_.category = text;
    } else if (key_ == "name") {
      event_.name = text;
    } else if (key_ == "ts") {
      event_.start = nanoseconds_of(text);
    } else if (key_ == "dur") {
      constexpr std::int64_t longest = 1'000'000'000'000'000;  // eleven days: a digit that was damaged
      event_.duration = std::clamp<std::int64_t>(nanoseconds_of(text), 0, longest);
    } else if (key_ == "pid") {
      event_.process = integer_of(text);
    } else if (key_ == "tid") {
      event_.thread = integer_of(text);
    }
  }

  /// A list of "args" begins: a level of "Input Dims" or its like.
  void start_list() {
    const std::size_t depth = levels_.size() - (events_level_ + 2);  // 1: the argument's own list
    const std::string& name = levels_[events_level_ + 2].key;
    if (depth == 2 && name == "Input Dims") event_.dims.emplace_back();
    if (depth == 2 && name == "Input Strides") event_.strides.emplace_back();
  }

  void argument(std::string_view text) {
    const std::size_t depth = levels_.size() - (events_level_ + 2);
    if (depth == 0) {
      plain_argument(text);
      return;
    }
    const std::string& name = levels_[events_level_ + 2].key;
    if (depth == 2 && name == "Input Dims" && !event_.dims.empty())
      event_.dims.back().push_back(integer_of(text));
    if (depth == 2 && name == "Input Strides" && !event_.strides.empty())
      event_.strides.back().push_back(integer_of(text));
    if (depth == 1 && name == "Input type") event_.types.emplace_back(text);
    if (depth == 1 && name == "Process Group Ranks")
      event_.group_ranks.push_back(static_cast<int>(integer_of(text)));
  }

  void plain_argument(std::string_view text) {
    if (key_ == "correlation") {
      event_.correlation = integer_of(text);
    } else if (key_ == "device") {
      event_.device = integer_of(text);
    } else if (key_ == "stream") {
      event_.stream = integer_of(text);
    } else if (key_ == "Sequence number") {
      event_.sequence = integer_of(text);
    } else if (key_ == "bytes") {
      event_.bytes = real_of(text);
    } else if (key_ == "Collective name") {
      event_.collective = text;
    } else if (key_ == "dtype") {
      event_.dtype = text;
    } else if (key_ == "Process Group Name") {
      event_.group = text;
    } else if (key_ == "Process Group Ranks") {
      event_.group_ranks = text.find("...") == std::string_view::npos ? numbers_in(text) : std::vector<int>();
    } else if (key_ == "In msg nelems") {
      event_.elements_in = integer_of(text);
    } else if (key_ == "Out msg nelems") {
      event_.elements_out = integer_of(text);
    } else if (key_ == "Group size") {
      event_.group_size = static_cast<int>(integer_of(text));
    }
  }

  /// A value outside of the events.
  void fact(std::string_view text) {
    if (levels_.size() == 1 && key_ == "schema") facts_.schema = text;
    if (levels_.size() < 2) return;
    const std::string& section = levels_[1].key;
    if (section == "distributedInfo" && levels_.size() == 2) {
      if (key_ == "rank") facts_.rank = static_cast<int>(integer_of(text));
      if (key_ == "world_size") facts_.world_size = static_cast<int>(integer_of(text));
      if (key_ == "pg_count") facts_.process_groups = static_cast<int>(integer_of(text));
      if (key_ == "backend") facts_.backend = text;
      if (key_ == "nccl_version") facts_.nccl_version = text;
    }
    if (section == "deviceProperties" && levels_.size() == 3) {
      if (key_ == "id") facts_.devices.push_back({integer_of(text), "", {}});
      if (facts_.devices.empty()) return;
      if (key_ == "name") facts_.devices.back().name = text;
      if (key_ == "totalGlobalMem") facts_.devices.back().memory = Bytes(real_of(text));
    }
  }

  TraceFacts& facts_;
  const std::function<bool(const TraceEvent&)>& on_event_;
  TraceEvent event_;
  std::vector<Level> levels_;
  std::string key_;
  bool in_events_{};
  std::size_t events_level_{};  ///< levels open when an event of the list begins
};

}  // namespace

SourcePlace place_in(const std::string& file, const TraceFacts& facts) {
  SourcePlace place;
  place.file = file;
  place.line = facts.damage.empty() ? 1 : facts.line;
  place.column = facts.damage.empty() ? 1 : facts.column;
  return place;
}

std::string damage_note(const TraceFacts& facts) {
  if (facts.damage.empty()) return "";
  return facts.damage + ": read up to byte " + std::to_string(facts.bytes) + ", " +
         std::to_string(facts.events) + " events";
}

TraceFacts read_trace(std::istream& from, const std::function<bool(const TraceEvent&)>& on_event) {
  ByteSource source(from);
  JsonStream stream(source);
  TraceFacts facts;
  Handler handler(facts, on_event);
  rapidjson::Reader reader;
  // Iterative: a text of a million open brackets must not fill the stack.
  constexpr unsigned flags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                             rapidjson::kParseNanAndInfFlag | rapidjson::kParseTrailingCommasFlag |
                             rapidjson::kParseStopWhenDoneFlag;
  const rapidjson::ParseResult result = reader.Parse<flags>(stream, handler);
  facts.bytes = stream.Tell();
  facts.line = stream.line();
  facts.column = stream.column();
  if (!stream.damage().empty()) {
    facts.damage = stream.damage();
  } else if (result.IsError() && result.Code() != rapidjson::kParseErrorTermination) {
    facts.damage =
        stream.at_end() ? "the text ends in the middle" : rapidjson::GetParseError_En(result.Code());
  }
  return facts;
}

}  // namespace stepcast
