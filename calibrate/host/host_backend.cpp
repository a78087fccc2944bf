#include <malloc.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include <Eigen/Core>
#include <algorithm>
#include <map>

#include "base/diagnostic.hpp"
#include "calibrate/backend.hpp"
#include "calibrate/host/gloo_communicator.hpp"
#include "calibrate/host/host_device.hpp"
#include "calibrate/host/lone_communicator.hpp"
#include "calibrate/host/machine.hpp"
#include "calibrate/host/neighbours.hpp"

namespace stepcast {
namespace {

std::string eigen_version() {
  return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION);
}

DeviceFacts facts_of_core(const MachineShare& share, std::optional<int> core, const HostKernels& kernels) {
  DeviceFacts facts;
  facts.profile_name = "cpu-host";
  facts.model = processor_model();
  facts.memory_capacity = Bytes(static_cast<double>(memory_limit() / share.ranks));
  facts.dtypes = {Dtype::fp32};
  facts.versions = {{"Eigen", eigen_version()}, {"instruction set", kernels.instruction_set}};
  if (const std::string gloo = gloo_version(); !gloo.empty()) facts.versions.emplace_back("Gloo", gloo);
  if (utsname system{}; uname(&system) == 0) facts.versions.emplace_back("Linux", system.release);
  facts.versions.emplace_back("core", core ? std::to_string(*core) : "any");
  return facts;
}

class HostBackend final : public Backend {
 public:
  explicit HostBackend(Meeting& meeting)
      : meeting_(meeting),
        session_(meeting.broadcast(std::to_string(monotonic_now().value))),
        share_(share_machine(meeting)),
        core_(share_),
        kernels_(*host_kernels().front()),
        device_(facts_of_core(share_, core_.number(), kernels_), kernels_) {
    // The default of 50 us would end every pause that much late; threads to come inherit it.
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    // Memory that was freed stays with the process, or each of Eigen's and Gloo's buffers would fault anew.
    // The threshold is the largest that glibc takes.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
  }

  std::string_view name() const override { return "host"; }
  ComputeDevice& device() override { return device_; }

  std::unique_ptr<DeviceCommunicator> communicator(const std::vector<int>& ranks) override {
    STEPCAST_CHECK(std::ranges::find(ranks, meeting_.place().rank) != ranks.end(),
                   "a communicator is opened by its own ranks");
    if (ranks.size() == 1) return lone_communicator(device_.timeline());
    std::string name = session_ + "/";
    for (const int rank : ranks) name += std::to_string(rank) + ",";
    name += "/" + std::to_string(opened_[name]++);
    return open_gloo_communicator(meeting_, ranks, name, device_.timeline(), kernels_.add);
  }

  std::vector<std::string> neighbours() const override {
    return busy_processes(core_.number(), share_.processes);
  }

 private:
  Meeting& meeting_;
  std::string session_;  // what an earlier backend of the meeting left in its store has another
  MachineShare share_;
  OwnCore core_;
  const HostKernels& kernels_;
  HostDevice device_;
  std::map<std::string, int> opened_;  // communicators so far, by their ranks
};

}  // namespace

std::unique_ptr<Backend> open_host_backend(Meeting& meeting) {
  if (meeting.place().size > 1 && gloo_version().empty()) {
    throw MachineError("this stepcast was built without Gloo, which carries data between ranks on hosts",
                       "install libgloo-dev and rebuild, or run one rank");
  }
  return std::make_unique<HostBackend>(meeting);
}

}  // namespace stepcast
