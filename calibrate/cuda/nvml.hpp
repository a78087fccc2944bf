#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace stepcast {

/// What the driver's management library says about one GPU. Figures that it does not know are 0 or empty.
class Nvml {
 public:
  /// @param pci_bus_id  of the GPU, as cudaDeviceGetPCIBusId writes it
  /// @returns nothing where the library is missing or does not know the GPU, as in some containers
  [[nodiscard]] static std::unique_ptr<Nvml> open(const std::string& pci_bus_id);
  virtual ~Nvml() = default;
  [[nodiscard]] virtual std::string driver_version() const = 0;
  [[nodiscard]] virtual std::vector<int> processes()
      const = 0;                                         ///< that compute; ids of the host, not the container
  [[nodiscard]] virtual double utilization() const = 0;  ///< share of the last second or so with a kernel
  [[nodiscard]] virtual Bytes memory_used() const = 0;
  [[nodiscard]] virtual int sm_clock_limit() const = 0;  ///< MHz
  [[nodiscard]] virtual int power_limit() const = 0;     ///< W
};

}  // namespace stepcast
