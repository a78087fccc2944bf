#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrate/backend.hpp"
#include "calibrate/host/host_clock.hpp"
#include "calibrate/host/ring.hpp"

namespace stepcast {

/// Two ranks or more over TCP by Gloo, on the meeting's interface. `name`, the same on all of them and no
/// other communicator's, keeps their addresses apart in the meeting's store. fp32 only.
/// @throws MachineError where the program was built without Gloo
[[nodiscard]] std::unique_ptr<DeviceCommunicator> open_gloo_communicator(Meeting& meeting,
                                                                         const std::vector<int>& ranks,
                                                                         const std::string& name,
                                                                         DeviceTimeline& timeline,
                                                                         SumKernel sum);

/// "0.5.0"; empty where the program was built without Gloo.
[[nodiscard]] std::string gloo_version();

}  // namespace stepcast
