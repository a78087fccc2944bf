#include "calibrate/host/host_clock.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>

namespace stepcast {
namespace {

Seconds read_clock(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return Seconds(0);
  return Seconds(static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
}

}  // namespace

Seconds monotonic_now() { return read_clock(CLOCK_MONOTONIC); }

Seconds thread_cpu_time() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

Seconds thread_cpu_time(pid_t thread) {
  // The kernel's name for a thread's clock, as glibc's pthread_getcpuclockid makes it: Gloo doesn't hand out
  // its thread's pthread_t.
  constexpr unsigned per_thread_schedule_clock = 6;
  return read_clock(
      static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | per_thread_schedule_clock));
}

void sleep_until(Seconds deadline) {
  timespec until{};
  until.tv_sec = static_cast<time_t>(std::floor(deadline.value));
  until.tv_nsec = static_cast<long>((deadline.value - std::floor(deadline.value)) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void wake_promptly(pid_t thread) {
  constexpr std::uint64_t shortest_slice_ns = 100'000;  // that the kernel takes
  // The kernel's sched_attr; its header and glibc's sched.h can't be included together.
  struct {
    std::uint32_t size{48}, policy{};
    std::uint64_t flags{};
    std::int32_t nice{};
    std::uint32_t priority{};
    std::uint64_t runtime{}, deadline{}, period{};
  } settings;
  if (syscall(SYS_sched_getattr, thread, &settings, sizeof(settings), 0U) != 0) return;
  if (settings.policy != SCHED_OTHER) return;  // someone asked for another scheduler
  settings.runtime = shortest_slice_ns;
  syscall(SYS_sched_setattr, thread, &settings, 0U);
}

Seconds DeviceTimeline::pause(Seconds time) {
  idle_at_ = (known_ ? idle_at_ : monotonic_now()) + time;
  known_ = true;
  sleep_until(idle_at_);
  return idle_at_;
}

void DeviceTimeline::waited(Seconds from, Seconds end) {
  idle_at_ = std::max(known_ ? idle_at_ : from, end);
  known_ = true;
}

}  // namespace stepcast
