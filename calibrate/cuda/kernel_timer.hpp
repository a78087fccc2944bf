#pragma once

#include <driver_types.h>

#include <functional>
#include <memory>
#include <string>

#include "calibrate/device.hpp"

namespace stepcast {

/// Tells how long the work of one stream takes.
class KernelTimer {
 public:
  KernelTimer() = default;
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;
  virtual ~KernelTimer() = default;
  /// Runs `body`, which returns how many launches it made on the stream at least, and waits for the device.
  /// Other streams may be at work when it begins.
  virtual Sample timed(const std::function<int()>& body) = 0;
};

/// By CUPTI's activity records; one at a time in a process. @throws MachineError where CUPTI is missing, too
/// old, held by another profiler, or refuses
[[nodiscard]] std::unique_ptr<KernelTimer> open_cupti_timer(cudaStream_t stream);

/// Of CUPTI's interface, "130001"; "not found" where it can't be opened.
[[nodiscard]] std::string cupti_version();

/// By CUDA events around the body: time includes gaps between kernels and a few microseconds of the events,
/// `busy` is as `time`, `host` is the thread's CPU time.
[[nodiscard]] std::unique_ptr<KernelTimer> open_event_timer(cudaStream_t stream);

}  // namespace stepcast
