#include "calibrate/measure/rank_readings.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

void append(std::string& text, Seconds time) {
  char digits[32];
  const auto [end, fault] = std::to_chars(digits, digits + sizeof digits, time.value);
  STEPCAST_CHECK(fault == std::errc{}, "a number longer than 32 characters");
  text.append(digits, end);
  text += ' ';
}

Seconds next(const char*& place, const char* end) {
  Seconds time;
  const auto [after, fault] = std::from_chars(place, end, time.value);
  STEPCAST_CHECK(fault == std::errc{} && after != end && *after == ' ', "readings that can't be read");
  place = after + 1;
  return time;
}

}  // namespace

void RankReadings::add(int rank, const std::vector<Reading>& readings) {
  std::vector<Reading>& mine = of_rank_.at(static_cast<std::size_t>(rank));
  mine.insert(mine.end(), readings.begin(), readings.end());
}

void RankReadings::drop_first_half() {
  for (std::vector<Reading>& readings : of_rank_)
    readings.erase(readings.begin(), readings.begin() + static_cast<std::ptrdiff_t>(readings.size() / 2));
}

int RankReadings::count() const {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::vector<Reading>& readings : of_rank_) {
    if (!readings.empty()) least = std::min(least, readings.size());
  }
  return least == std::numeric_limits<std::size_t>::max() ? 0 : static_cast<int>(least);
}

std::vector<Seconds> RankReadings::of(const std::vector<Reading>& readings, Seconds Reading::*field) const {
  std::vector<Seconds> times;
  for (const Reading& reading : readings) times.push_back(reading.*field);
  return times;
}

Location RankReadings::slowest(bool together) const {
  if (together) {
    std::vector<Seconds> repeats(static_cast<std::size_t>(count()));
    for (const std::vector<Reading>& readings : of_rank_) {
      for (std::size_t i = 0; i < readings.size() && i < repeats.size(); ++i)
        repeats[i] = std::max(repeats[i], readings[i].time);
    }
    return locate(repeats);
  }
  Location slowest;
  for (const std::vector<Reading>& readings : of_rank_) {
    if (readings.empty()) continue;
    const Location location = locate(of(readings, &Reading::time));
    if (location.median > slowest.median) slowest = location;
  }
  return slowest;
}

Measured RankReadings::result(const Measurement& what) const {
  Measured measured;
  measured.what = what;
  const Location location = slowest(what.kind == Measurement::Kind::collective);
  measured.median = location.median;
  measured.low = location.low;
  measured.high = location.high;
  measured.spread = location.spread;
  measured.repeats = count();
  for (const std::vector<Reading>& readings : of_rank_)
    measured.by_rank.push_back(readings.empty() ? Seconds() : median_of(of(readings, &Reading::time)));
  measured.host = largest(&Reading::host);
  measured.alone = largest(&Reading::alone);
  return measured;
}

Seconds RankReadings::largest(Seconds Reading::*field) const {
  Seconds largest;
  for (const std::vector<Reading>& readings : of_rank_) {
    if (!readings.empty()) largest = std::max(largest, median_of(of(readings, field)));
  }
  return largest;
}

Seconds RankReadings::smallest(Seconds Reading::*field) const {
  Seconds smallest(std::numeric_limits<double>::infinity());
  for (const std::vector<Reading>& readings : of_rank_) {
    if (!readings.empty()) smallest = std::min(smallest, median_of(of(readings, field)));
  }
  return smallest;
}

std::string to_text(const std::vector<Reading>& readings) {
  std::string text;
  for (const Reading& reading : readings) {
    for (const Seconds time : {reading.time, reading.host, reading.alone, reading.call}) append(text, time);
  }
  return text;
}

std::vector<Reading> readings_of(const std::string& text) {
  std::vector<Reading> readings;
  const char* place = text.data();
  const char* const end = place + text.size();
  while (place < end) {
    Reading reading;
    for (Seconds* time : {&reading.time, &reading.host, &reading.alone, &reading.call})
      *time = next(place, end);
    readings.push_back(reading);
  }
  return readings;
}

}  // namespace stepcast
