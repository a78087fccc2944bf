#pragma once

#include <utility>
#include <vector>

#include "sim/collective/collective.hpp"

namespace stepcast {

/// A robust line t = latency + slope * size through measured times, and the times between them.
///
/// The line minimizes Huber's loss of the relative errors (scale from their median), neither part below 0; a
/// single point is all slope.
class FittedCurve {
 public:
  /// @param points  ascending in size, above zero, not empty
  explicit FittedCurve(std::vector<std::pair<Bytes, Seconds>> points);

  /// At a point exactly its time; between points the line times measured / line, whose logarithm is linear in
  /// ln(size); outside the nearest ratio.
  [[nodiscard]] Seconds at(Bytes size) const;
  [[nodiscard]] Seconds line(Bytes size) const { return Seconds(latency_ + slope_ * size.value); }
  [[nodiscard]] Seconds latency() const { return Seconds(latency_); }
  [[nodiscard]] double slope() const { return slope_; }  ///< seconds a byte

 private:
  std::vector<std::pair<Bytes, Seconds>> points_;
  double latency_{}, slope_{};
};

/// Rounds of messages, each waiting for the one before, and bytes over each hop per byte of payload, of a
/// ring of n ranks: all_reduce 2 (n-1) and 2 (n-1)/n; all_gather, reduce_scatter and all_to_all n-1 and
/// (n-1)/n; broadcast and reduce n-1 and 1; send_recv 1 and 1.
struct RingShape {
  double steps{}, bytes{};
};
[[nodiscard]] RingShape ring_shape(Operation operation, int ranks);

/// What is asked of a measured operation: other ranks, another rate of the link, or both.
struct Conditions {
  Operation operation{};
  int measured_ranks{}, ranks{};
  double measured_wire{};  ///< seconds a payload byte that the busiest network link takes, as measured: by
                           ///< the model
  double wire{};           ///< likewise as asked
};

/// A measured call under other conditions. The measured time has a latency, a part of the slope that is the
/// wire's (as much as the link's rate and efficiency explain), and a rest (CPU, memory):
///
///     t = latency + size * (wire share * wire + rest)
///
/// Other ranks: latency by the ring's steps, the slope by its bytes. Another link: size * wire share * (wire
/// as asked - wire as measured) on top. Where the line misses the measured times, its relative error stays.
struct ExtrapolatedTime {
  Seconds latency, time;
};
[[nodiscard]] ExtrapolatedTime extrapolate(const FittedCurve& measured, Bytes size, const Conditions& asked);

/// CPU time of such a call: its constant part by the ring's steps, the rest by its bytes; the link does not
/// matter.
[[nodiscard]] Seconds extrapolate_cpu(const FittedCurve& measured, Bytes size, const Conditions& asked);

}  // namespace stepcast
