#pragma once

#include <driver_types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "calibrate/device.hpp"

namespace stepcast {

/// Device memory that is handed out again when blocks of the same size are asked for: cudaFree would wait for
/// the device. Reuse is in the order of the compute stream.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  /// Takes at most `limit` from the device in all.
  MemoryPool(cudaStream_t stream, Bytes limit) : stream_(stream), limit_(limit) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  [[nodiscard]] std::shared_ptr<void> allocate(std::int64_t bytes);  ///< zeroed, on the stream
  [[nodiscard]] std::shared_ptr<void> scratch(std::int64_t bytes);   ///< holds anything
  [[nodiscard]] Bytes take_peak();

 private:
  void release_free_blocks();

  cudaStream_t stream_;
  Bytes limit_;
  std::int64_t taken_{}, handed_out_{}, peak_{};
  std::map<std::int64_t, std::vector<void*>> free_;
};

}  // namespace stepcast
