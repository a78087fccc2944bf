#include "calibrate/measure/budget.hpp"

#include <algorithm>

namespace stepcast {
namespace {

/// Of a measurement's expected time, what its fewest repeats take (see PlanBuilder::add).
constexpr double least_part = 1 / 1.5;
/// No single surprise moves expectations further.
constexpr double most_pace = 20;

std::string like(const Measurement& what) { return std::string(name_of(what.kind)) + " " + what.group; }

}  // namespace

Budget::Budget(Seconds total, const std::vector<PlannedMeasurement>& plan, Seconds now)
    : plan_(plan), end_(now + total) {}

Seconds Budget::expected(std::size_t index) const {
  const PlannedMeasurement& planned = plan_.at(index);
  const auto pace = pace_.find(like(planned.what));
  return (pace == pace_.end() ? 1.0 : pace->second) * planned.expected;
}

Seconds Budget::expected_from(std::size_t index) const {
  Seconds sum;
  for (std::size_t i = index; i < plan_.size(); ++i) sum += expected(i);
  return sum;
}

bool Budget::allows(std::size_t index, Seconds now) const {
  return now + least_part * expected(index) <= end_;
}

Seconds Budget::end_of(std::size_t index, Seconds now) const {
  const Seconds left = std::max(Seconds(0), end_ - now), all = expected_from(index);
  return all.value > 0 ? now + left * (expected(index) / all) : end_;
}

void Budget::learn(std::size_t index, Seconds one_call) {
  const PlannedMeasurement& planned = plan_.at(index);
  // Shorter calls than a batch are run more often: they take no less time.
  const double slower = planned.one_call.value > 0 ? one_call / planned.one_call : 1.0;
  pace_[like(planned.what)] = std::clamp(slower, 1.0, most_pace);
}

int without_time(Seconds total, const std::vector<PlannedMeasurement>& plan) {
  const Budget budget(total, plan, Seconds(0));
  Seconds now;
  int left_out = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (budget.allows(i, now))
      now += least_part * plan[i].expected;
    else
      ++left_out;
  }
  return left_out;
}

}  // namespace stepcast
