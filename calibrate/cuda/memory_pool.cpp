#include "calibrate/cuda/memory_pool.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "base/print.hpp"
#include "calibrate/cuda/cuda_error.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t granularity = 512;  // what cudaMalloc aligns to at least is 256

}  // namespace

MemoryPool::~MemoryPool() { release_free_blocks(); }

void MemoryPool::release_free_blocks() {
  for (auto& [size, blocks] : free_) {
    for (void* block : blocks) {
      cudaFree(block);
      taken_ -= size;
    }
  }
  free_.clear();
}

std::shared_ptr<void> MemoryPool::scratch(std::int64_t bytes) {
  const std::int64_t size = std::max<std::int64_t>(1, (bytes + granularity - 1) / granularity) * granularity;
  void* block = nullptr;
  if (auto& same_size = free_[size]; !same_size.empty()) {
    block = same_size.back();
    same_size.pop_back();
  } else {
    const auto fits = [&] { return static_cast<double>(taken_ + size) <= limit_.value; };
    if (!fits()) release_free_blocks();
    cudaError_t status =
        fits() ? cudaMalloc(&block, static_cast<std::size_t>(size)) : cudaErrorMemoryAllocation;
    if (status == cudaErrorMemoryAllocation && fits()) {
      cudaGetLastError();  // forget it
      release_free_blocks();
      status = cudaMalloc(&block, static_cast<std::size_t>(size));
    }
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw MachineError("out of GPU memory: " + print_size(Bytes(static_cast<double>(size))) +
                             " more than the " + print_size(Bytes(static_cast<double>(taken_))) +
                             " in use; at most " + print_size(limit_) + " are taken, 90 % of what was free",
                         "use a smaller model or batch, or a GPU that nobody else uses");
    }
    check_cuda(status, "allocate memory");
    taken_ += size;
  }
  handed_out_ += size;
  peak_ = std::max(peak_, handed_out_);
  return {block, [pool = weak_from_this(), size](void* freed) {
            if (const auto owner = pool.lock()) {
              owner->handed_out_ -= size;
              owner->free_[size].push_back(freed);
            } else {
              cudaFree(freed);
            }
          }};
}

std::shared_ptr<void> MemoryPool::allocate(std::int64_t bytes) {
  auto block = scratch(bytes);
  check_cuda(cudaMemsetAsync(block.get(), 0, static_cast<std::size_t>(bytes), stream_), "zero memory");
  return block;
}

Bytes MemoryPool::take_peak() { return Bytes(static_cast<double>(std::exchange(peak_, handed_out_))); }

}  // namespace stepcast
