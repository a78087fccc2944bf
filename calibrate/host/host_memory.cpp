#include "calibrate/host/host_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/print.hpp"
#include "calibrate/device.hpp"

namespace stepcast {

std::shared_ptr<void> HostMemory::allocate(std::int64_t bytes) {
  constexpr std::int64_t cache_line = 64, huge_page = std::int64_t{2} << 20;
  const auto refuse = [&] {
    const auto as_text = [](std::int64_t n) { return print_size(Bytes(static_cast<double>(n))); };
    throw MachineError("out of memory: " + as_text(bytes) + " more than the " + as_text(used_) +
                           " in use don't fit into this rank's " + as_text(capacity_),
                       "a smaller model or batch, or fewer ranks on this machine");
  };
  if (bytes > capacity_ - used_) refuse();
  const std::int64_t alignment = bytes >= huge_page ? huge_page : cache_line;
  const auto size =
      static_cast<std::size_t>((std::max<std::int64_t>(bytes, 1) + alignment - 1) / alignment * alignment);
  void* block = std::aligned_alloc(static_cast<std::size_t>(alignment), size);
  if (!block) refuse();
  if (alignment == huge_page) madvise(block, size, MADV_HUGEPAGE);  // advice; a kernel without it says no
  std::memset(block, 0, size);
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return {block, [this, bytes](void* mine) {
            std::free(mine);
            used_ -= bytes;
          }};
}

std::int64_t HostMemory::take_peak() {
  const std::int64_t peak = peak_;
  peak_ = used_;
  return peak;
}

}  // namespace stepcast
