#pragma once

#include <cstdint>
#include <memory>

namespace stepcast {

/// Zeroed memory, and how much of it is handed out. Pages are touched when they are handed out, so that no
/// page fault lands in a measured kernel; large blocks ask for huge pages.
class HostMemory {
 public:
  explicit HostMemory(std::int64_t capacity) : capacity_(capacity) {}
  /// @throws MachineError beyond the capacity. The handle must not outlive this object.
  [[nodiscard]] std::shared_ptr<void> allocate(std::int64_t bytes);
  /// Largest sum of what was handed out since the last call.
  [[nodiscard]] std::int64_t take_peak();

 private:
  std::int64_t capacity_, used_{}, peak_{};
};

}  // namespace stepcast
