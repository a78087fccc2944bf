#include "calibrate/host/kernels/table.hpp"

namespace stepcast {

namespace baseline {
extern const HostKernels kernels;
}
#ifdef STEPCAST_X86_KERNELS
namespace avx2 {
extern const HostKernels kernels;
}
namespace avx512 {
extern const HostKernels kernels;
}
#endif

std::vector<const HostKernels*> host_kernels() {
  std::vector<const HostKernels*> found;
#ifdef STEPCAST_X86_KERNELS
  // What -march=x86-64-v4 and -v3 let the compiler use.
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vl");
  if (has_avx512) found.push_back(&avx512::kernels);
  if (has_avx2) found.push_back(&avx2::kernels);
#endif
  found.push_back(&baseline::kernels);
  return found;
}

}  // namespace stepcast
