#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace stepcast::bench {

/// What a run says of itself.
struct Outcome {
  double seconds{};  ///< simulated
  std::int64_t flows{};
  std::int64_t events{};
};

struct Measured {
  Outcome outcome;
  double cpu_seconds{};  ///< user time of all of it, set-up included
  double peak_mib{};
  bool ended{};  ///< else the process died
};

/// Runs `work` in a process of its own, so that its user time and its peak memory are its own.
template <class Work>
Measured run_apart(Work work) {
  Measured result;
  int ends[2];
  if (pipe(ends) != 0) return result;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const Outcome outcome = work();
    const bool written = write(ends[1], &outcome, sizeof outcome) == sizeof outcome;
    std::_Exit(written ? 0 : 1);
  }
  close(ends[1]);
  result.ended = child > 0 && read(ends[0], &result.outcome, sizeof result.outcome) == sizeof result.outcome;
  close(ends[0]);
  int status = 0;
  rusage usage{};
  if (child > 0 && wait4(child, &status, 0, &usage) == child) {
    result.cpu_seconds =
        static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
    result.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  }
  return result;
}

}  // namespace stepcast::bench
