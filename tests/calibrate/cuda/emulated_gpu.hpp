#pragma once

#define STEPCAST_EMULATED_GPU

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

// Enough of a GPU to run stepcast's kernels on a CPU, so that their arithmetic is tested where there is none:
// a block's threads are coroutines that take turns at __syncthreads and __shfl_xor_sync, blocks follow each
// other.
namespace stepcast::emulated {

struct Gpu {
  struct Thread {
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
    uint3 index{};
    bool done{};
  };
  ucontext_t scheduler{};
  std::vector<Thread> threads;
  std::size_t current{};
  std::vector<int> arrived_of_warp, generation_of_warp;
  std::vector<float> lanes;
  int arrived{}, generation{};
  std::function<void()> body;

  static void enter();
  void yield() { swapcontext(&threads[current].context, &scheduler); }
  void meet(int& count, int& phase, int expected) {
    if (++count == expected) {
      count = 0;
      ++phase;
      return;
    }
    for (const int own = phase; phase == own;) yield();
  }
  void run_block();
};

inline Gpu gpu;
inline uint3 thread_index, block_index;
inline dim3 block_size, grid_size;

inline void Gpu::enter() {
  gpu.body();
  gpu.threads[gpu.current].done = true;
  gpu.yield();
}

inline void Gpu::run_block() {
  constexpr std::size_t stack_bytes = std::size_t{1} << 16U;
  const unsigned count = block_size.x * block_size.y * block_size.z;
  threads.resize(count);
  arrived = 0;
  arrived_of_warp.assign((count + 31) / 32, 0);
  generation_of_warp.assign((count + 31) / 32, 0);
  lanes.assign(count, 0.0F);
  for (unsigned i = 0; i < count; ++i) {
    Thread& thread = threads[i];
    thread.index = {i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y};
    thread.done = false;
    if (!thread.stack) thread.stack = std::make_unique<char[]>(stack_bytes);
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = stack_bytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, &Gpu::enter, 0);
  }
  for (std::size_t left = count; left > 0;) {
    for (current = 0; current < count; ++current) {
      if (threads[current].done) continue;
      thread_index = threads[current].index;
      swapcontext(&scheduler, &threads[current].context);
      if (threads[current].done) --left;
    }
  }
}

inline int warp_of(std::size_t thread) { return static_cast<int>(thread / 32); }
inline void meet_warp() {
  const auto warp = static_cast<std::size_t>(warp_of(gpu.current));
  const auto size = static_cast<int>(std::min<std::size_t>(32, gpu.threads.size() - 32 * warp));
  gpu.meet(gpu.arrived_of_warp[warp], gpu.generation_of_warp[warp], size);
}

}  // namespace stepcast::emulated

#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(threads)
#define threadIdx (::stepcast::emulated::thread_index)
#define blockIdx (::stepcast::emulated::block_index)
#define blockDim (::stepcast::emulated::block_size)
#define gridDim (::stepcast::emulated::grid_size)

inline void __syncthreads() {
  auto& gpu = stepcast::emulated::gpu;
  gpu.meet(gpu.arrived, gpu.generation, static_cast<int>(gpu.threads.size()));
}

inline float __shfl_xor_sync(unsigned, float value, int mask) {
  auto& gpu = stepcast::emulated::gpu;
  const std::size_t own = gpu.current;
  gpu.lanes[own] = value;
  stepcast::emulated::meet_warp();
  const float other = gpu.lanes[own ^ static_cast<std::size_t>(mask)];
  stepcast::emulated::meet_warp();
  return other;
}

inline float atomicAdd(float* to, float value) {
  const float before = *to;
  *to += value;
  return before;
}

inline float __expf(float x) { return std::exp(x); }
inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = std::sin(static_cast<float>(M_PI) * x);
  *cosine = std::cos(static_cast<float>(M_PI) * x);
}
inline void __nanosleep(unsigned) {}

namespace stepcast::kernels {

inline std::uint64_t device_nanoseconds() {
  static std::uint64_t time = 0;
  return time += 1000;
}
inline void check_launch(const char*) {}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, cudaStream_t, Arguments... arguments) {
  emulated::grid_size = blocks;
  emulated::block_size = threads;
  emulated::gpu.body = [&] { kernel(arguments...); };
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) {
        emulated::block_index = {x, y, z};
        emulated::gpu.run_block();
      }
    }
  }
}

}  // namespace stepcast::kernels
