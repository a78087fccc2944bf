#include "calibrate/host/gloo_communicator.hpp"

namespace stepcast {

std::unique_ptr<DeviceCommunicator> open_gloo_communicator(Meeting&, const std::vector<int>&,
                                                           const std::string&, DeviceTimeline&, SumKernel) {
  throw MachineError("this stepcast was built without Gloo, which carries data between ranks on hosts",
                     "install libgloo-dev and rebuild");
}

std::string gloo_version() { return ""; }

}  // namespace stepcast
