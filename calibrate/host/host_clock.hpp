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

/// Gives a thread (0: the caller) short time slices, where Linux has them (6.12 on; any user may). Gloo's
/// socket thread spins while another thread holds a connection's lock; on one core that lasts until its slice
/// ends. Calls of 64 KiB on one core took 0.5 ms with slices of 0.1 ms, and 3 to 8 ms with those of 1.4 ms.
/// It also takes the core sooner from a thread that computes.
void wake_promptly(pid_t thread);

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
