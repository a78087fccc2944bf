#include "sim/cost/kernels.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {

Kernel gemm_kernel(const GpuProfile& gpu, std::string name, GemmUnits units, FlopPerSecond rate,
                   const GemmShape& shape, Bytes moved, Flop flops) {
  const GemmTiling tiling = best_tiling(gpu, units, rate, shape);
  const Seconds compute = tiling.compute_time();
  const Seconds memory = moved / gpu.memory_rate.value;
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.kind = KernelClass::gemm;
  kernel.time = std::max(compute, memory) + gpu.gemm_latency.value;
  kernel.blocks = tiling.blocks;
  kernel.wave = tiling.wave;
  kernel.fixed = tiling.reduce + gpu.gemm_latency.value;
  kernel.memory = moved;
  kernel.flops = flops;
  if (memory > compute) kernel.memory_share = memory / kernel.time;
  kernel.launch_bound = 2 * gpu.gemm_latency.value > kernel.time;
  return kernel;
}

Kernel memory_kernel(const GpuProfile& gpu, std::string name, Bytes moved, int launches, double efficiency) {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.kind = KernelClass::memory;
  kernel.count = std::max(1, launches);
  kernel.memory = moved / kernel.count;
  kernel.fixed = launches > 0 ? gpu.memory_latency.value : Seconds(0);
  const Seconds moving = kernel.memory / (efficiency * gpu.memory_rate.value);
  kernel.time = moving + kernel.fixed;
  kernel.memory_share = kernel.time > Seconds(0) ? moving / kernel.time : 0;
  kernel.launch_bound = 2 * kernel.fixed > kernel.time;
  return kernel;
}

void stretch(Kernel& kernel, double ratio) {
  kernel.time = ratio * kernel.time;
  kernel.wave = ratio * kernel.wave;
  kernel.fixed = ratio * kernel.fixed;
}

void use_measured(const GpuProfile& gpu, const OperatorTimes::SizePoints& points, int launches,
                  double efficiency, Kernel& kernel) {
  std::vector<std::pair<Bytes, double>> ratios;
  for (const auto& [size, time] : points) {
    const Kernel model = memory_kernel(gpu, "", size, launches, efficiency);
    ratios.emplace_back(size, time / (launches * model.time));
  }
  stretch(kernel, interpolate_ratio(ratios, launches * kernel.memory));
}

Kernel copy_kernel(const GpuProfile& gpu, std::string name, Bytes moved, int launches) {
  Kernel kernel = memory_kernel(gpu, std::move(name), moved, launches);
  const auto points = gpu.measured.kernel.find({"copy", Pass::forward, Dtype::fp32});
  if (points != gpu.measured.kernel.end()) use_measured(gpu, points->second, 1, 1, kernel);
  return kernel;
}

}  // namespace stepcast
