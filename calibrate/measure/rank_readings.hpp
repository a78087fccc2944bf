#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/sampler.hpp"
#include "calibrate/measure/statistics.hpp"

namespace stepcast {

/// Readings of all ranks for one measurement, on rank 0.
class RankReadings {
 public:
  explicit RankReadings(int ranks) : of_rank_(static_cast<std::size_t>(ranks)) {}

  void add(int rank, const std::vector<Reading>& readings);
  /// Forgets the first half of each rank's.
  void drop_first_half();
  /// Of the rank that took part with fewest.
  [[nodiscard]] int count() const;

  /// The slowest rank's time. Where ranks work together, of each repeat the slowest rank's time counts; where
  /// each works for itself, the rank with the largest median.
  [[nodiscard]] Location slowest(bool together) const;
  /// Result of the measurement; `what` decides whether ranks work together.
  [[nodiscard]] Measured result(const Measurement& what) const;
  /// Over the ranks' medians of one field.
  [[nodiscard]] Seconds largest(Seconds Reading::*field) const;
  [[nodiscard]] Seconds smallest(Seconds Reading::*field) const;

 private:
  [[nodiscard]] std::vector<Seconds> of(const std::vector<Reading>& readings, Seconds Reading::*field) const;

  std::vector<std::vector<Reading>> of_rank_;
};

/// Readings as text that meetings carry; exact.
[[nodiscard]] std::string to_text(const std::vector<Reading>& readings);
[[nodiscard]] std::vector<Reading> readings_of(const std::string& text);

}  // namespace stepcast
