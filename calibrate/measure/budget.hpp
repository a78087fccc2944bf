#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/measure/plan.hpp"

namespace stepcast {

/// Divides the time of a calibration among its measurements, and learns from each how far the expectations of
/// its like (kind and group) are off.
class Budget {
 public:
  /// @param now  when it starts to run
  Budget(Seconds total, const std::vector<PlannedMeasurement>& plan, Seconds now);

  /// Whether the measurement `index` fits in its fewest repeats into what is left at `now`.
  [[nodiscard]] bool allows(std::size_t index, Seconds now) const;
  /// When the measurement must end that begins at `now`: its part of what is left.
  [[nodiscard]] Seconds end_of(std::size_t index, Seconds now) const;
  /// One call took this long.
  void learn(std::size_t index, Seconds one_call);
  /// Of measurements `index` and later.
  [[nodiscard]] Seconds expected_from(std::size_t index) const;

 private:
  [[nodiscard]] Seconds expected(std::size_t index) const;

  const std::vector<PlannedMeasurement>& plan_;
  Seconds end_;
  std::map<std::string, double> pace_;  ///< measured over expected, by kind and group
};

/// How many of the plan find no time in `total`, even where each takes its fewest repeats and as long as
/// expected.
[[nodiscard]] int without_time(Seconds total, const std::vector<PlannedMeasurement>& plan);

}  // namespace stepcast
