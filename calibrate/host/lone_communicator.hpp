#pragma once

#include <memory>

#include "calibrate/backend.hpp"
#include "calibrate/host/host_clock.hpp"

namespace stepcast {

/// Of one rank: every call is a copy from input to output, or nothing in place, done when start() returns.
[[nodiscard]] std::unique_ptr<DeviceCommunicator> lone_communicator(DeviceTimeline& timeline);

}  // namespace stepcast
