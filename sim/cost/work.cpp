#include <algorithm>
#include <cmath>

#include "sim/cost/cost.hpp"

namespace stepcast {

double wave_count(double blocks, double blocks_per_sm, int sms, int reserved) {
  const int available = std::max(1, sms - reserved);
  return std::ceil(blocks / (available * blocks_per_sm));
}

void Work::append(const Work& other) {
  kernels.insert(kernels.end(), other.kernels.begin(), other.kernels.end());
  host_time += other.host_time;
}

int Work::kernel_count() const {
  int count = 0;
  for (const Kernel& kernel : kernels) count += kernel.count;
  return count;
}

Flop Work::flops() const {
  Flop sum;
  for (const Kernel& kernel : kernels) sum += kernel.count * kernel.flops;
  return sum;
}

Seconds Work::duration(int sms, int reserved_sms) const {
  Seconds sum;
  for (const Kernel& kernel : kernels) {
    Seconds one = kernel.time;
    if (reserved_sms > 0 && kernel.blocks > 0) {
      const double waves = wave_count(kernel.blocks, kernel.blocks_per_sm, sms, 0);
      const Seconds wave = kernel.wave > Seconds(0) ? kernel.wave : (kernel.time - kernel.fixed) / waves;
      const double fewer = wave_count(kernel.blocks, kernel.blocks_per_sm, sms, reserved_sms);
      one = std::max(one, kernel.fixed + fewer * wave);
    }
    sum += kernel.count * one;
  }
  return sum;
}

Seconds Work::memory_time() const {
  Seconds sum;
  for (const Kernel& kernel : kernels) sum += (kernel.count * kernel.memory_share) * kernel.time;
  return sum;
}

Seconds Work::pause_time() const {
  Seconds sum;
  for (const Kernel& kernel : kernels) sum += (kernel.pause ? kernel.count : 0) * kernel.time;
  return sum;
}

Seconds Work::time_of(KernelClass kind) const {
  Seconds sum;
  for (const Kernel& kernel : kernels) {
    if (kernel.kind == kind) sum += kernel.count * kernel.time;
  }
  return sum;
}

}  // namespace stepcast
