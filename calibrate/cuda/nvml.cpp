#include "calibrate/cuda/nvml.hpp"

#include "calibrate/cuda/library.hpp"
#include "calibrate/device.hpp"

namespace stepcast {
namespace {

// Toolkits don't always bring nvml.h; these few declarations are its, as published on
// docs.nvidia.com/deploy/nvml-api.
using NvmlReturn = int;  // 0 is success
using NvmlDevice = struct NvmlDeviceHandle*;
constexpr NvmlReturn nvml_success = 0;
constexpr int nvml_clock_sm = 1;

struct NvmlUtilization {
  unsigned gpu, memory;  ///< percent
};
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

class OpenNvml : public Nvml {
 public:
  explicit OpenNvml(const std::string& pci_bus_id) : library_("NVML", {"libnvidia-ml.so.1"}) {
    NvmlReturn (*init)() = nullptr;
    NvmlReturn (*by_bus)(const char*, NvmlDevice*) = nullptr;
    library_.load(init, "nvmlInit_v2");
    library_.load(by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
    library_.load_optional(driver_, "nvmlSystemGetDriverVersion");
    library_.load_optional(processes_, "nvmlDeviceGetComputeRunningProcesses_v3");
    library_.load_optional(utilization_, "nvmlDeviceGetUtilizationRates");
    library_.load_optional(memory_, "nvmlDeviceGetMemoryInfo");
    library_.load_optional(clock_, "nvmlDeviceGetMaxClockInfo");
    library_.load_optional(power_, "nvmlDeviceGetEnforcedPowerLimit");
    if (init() != nvml_success || by_bus(pci_bus_id.c_str(), &device_) != nvml_success) {
      throw MachineError("NVML does not know the GPU " + pci_bus_id);
    }
  }

  std::string driver_version() const override {
    char text[96]{};
    return driver_ != nullptr && driver_(text, sizeof text) == nvml_success ? text : "";
  }
  std::vector<int> processes() const override {
    std::vector<NvmlProcess> found(64);
    auto count = static_cast<unsigned>(found.size());
    if (processes_ == nullptr || processes_(device_, &count, found.data()) != nvml_success) return {};
    std::vector<int> ids;
    for (unsigned i = 0; i < count; ++i) ids.push_back(static_cast<int>(found[i].pid));
    return ids;
  }
  double utilization() const override {
    NvmlUtilization now{};
    if (utilization_ == nullptr || utilization_(device_, &now) != nvml_success) return 0;
    return static_cast<double>(now.gpu) / 100;
  }
  Bytes memory_used() const override {
    NvmlMemory now{};
    if (memory_ == nullptr || memory_(device_, &now) != nvml_success) return Bytes(0);
    return Bytes(static_cast<double>(now.used));
  }
  int sm_clock_limit() const override {
    unsigned megahertz = 0;
    if (clock_ == nullptr || clock_(device_, nvml_clock_sm, &megahertz) != nvml_success) return 0;
    return static_cast<int>(megahertz);
  }
  int power_limit() const override {
    unsigned milliwatts = 0;
    if (power_ == nullptr || power_(device_, &milliwatts) != nvml_success) return 0;
    return static_cast<int>(milliwatts / 1000);
  }

 private:
  SharedLibrary library_;
  NvmlDevice device_{};
  NvmlReturn (*driver_)(char*, unsigned){};
  NvmlReturn (*processes_)(NvmlDevice, unsigned*, NvmlProcess*){};
  NvmlReturn (*utilization_)(NvmlDevice, NvmlUtilization*){};
  NvmlReturn (*memory_)(NvmlDevice, NvmlMemory*){};
  NvmlReturn (*clock_)(NvmlDevice, int, unsigned*){};
  NvmlReturn (*power_)(NvmlDevice, unsigned*){};
};

}  // namespace

std::unique_ptr<Nvml> Nvml::open(const std::string& pci_bus_id) {
  try {
    return std::make_unique<OpenNvml>(pci_bus_id);
  } catch (const MachineError&) {
    return nullptr;
  }
}

}  // namespace stepcast
