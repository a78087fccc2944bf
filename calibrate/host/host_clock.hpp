#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/units.hpp"

namespace stepcast {

/// CLOCK_MONOTONIC.
[[nodiscard]] Seconds monotonic_now();
/// CPU time of the calling thread, kernel time included.
[[nodiscard]] Seconds thread_cpu_time();
/// CPU time of another thread of this process; 0 once it has ended.
[[nodiscard]] Seconds thread_cpu_time(pid_t thread);
/// Sleeps until CLOCK_MONOTONIC reaches `deadline`; returns at once if it has passed.
void sleep_until(Seconds deadline);

/// When the compute stream of a host would be idle, if waking up took no time. Pauses that follow each other
/// end where an accelerator's would: a late wake-up shortens the next pause instead of adding up.
class DeviceTimeline {
 public:
  /// The stream pauses, from the end of what it did before. @return when it goes on, on CLOCK_MONOTONIC
  Seconds pause(Seconds time);
  /// The stream waited, from `from` on, for something that ended at `end`.
  void waited(Seconds from, Seconds end);
  /// Real work, or something unknown, happened: the next pause begins when it is called.
  void worked() { known_ = false; }

 private:
  Seconds idle_at_;
  bool known_{};
};

}  // namespace stepcast
