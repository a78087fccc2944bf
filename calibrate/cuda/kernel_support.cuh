#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "calibrate/cuda/cuda_error.hpp"
#include "calibrate/device.hpp"

// What the kernels share: conversions, 16-byte accesses, choice of types, reductions.
namespace stepcast::kernels {

/// N elements that are loaded and stored at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T at[N];
};

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ inline float to_float(__nv_fp8_e4m3 value) { return static_cast<float>(value); }

template <class T>
__device__ inline T from_float(float value) {
  return T(value);
}

template <int N, class T>
__device__ inline Vector<T, N> load(const T* from) {
  return *reinterpret_cast<const Vector<T, N>*>(from);
}
template <int N, class T>
__device__ inline void store(T* to, const Vector<T, N>& what) {
  *reinterpret_cast<Vector<T, N>*>(to) = what;
}

constexpr int warp_size = 32;

__device__ inline float warp_sum(float value) {
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, distance);
  }
  return value;
}

__device__ inline float warp_maximum(float value) {
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, distance));
  }
  return value;
}

/// Over a one-dimensional block of whole warps; every thread gets the result.
template <class Reduce>
__device__ inline float block_reduce(float value, float neutral, Reduce reduce) {
  __shared__ float of_warp[warp_size];
  const unsigned lane = threadIdx.x % warp_size;
  value = reduce(value);
  if (blockDim.x == warp_size) return value;
  if (lane == 0) of_warp[threadIdx.x / warp_size] = value;
  __syncthreads();
  value = reduce(lane < blockDim.x / warp_size ? of_warp[lane] : neutral);
  __syncthreads();  // of_warp is free for the next reduction
  return value;
}
__device__ inline float block_sum(float value) {
  return block_reduce(value, 0.0F, [](float v) { return warp_sum(v); });
}
__device__ inline float block_maximum(float value) {
  return block_reduce(value, -INFINITY, [](float v) { return warp_maximum(v); });
}

/// Calls `f` with a value of the element type.
template <class F>
void with_type(Dtype type, F&& f) {
  switch (type) {
    case Dtype::fp32:
    case Dtype::tf32:
      return f(float{});
    case Dtype::bf16:
      return f(__nv_bfloat16{});
    case Dtype::fp16:
      return f(__half{});
    case Dtype::fp8:
      break;
  }
  throw MachineError("this GPU kernel does not work on fp8 elements",
                     "only products, copies and random data do");
}

template <class T>
T* data(const Tensor& tensor) {
  return static_cast<T*>(tensor.data);
}

/// Elements of 16 bytes at most: what one access of a thread moves.
template <class... T>
constexpr int widest = 16 / static_cast<int>(std::max({sizeof(T)...}));

/// Whether vectors of N elements may be loaded from there at once.
template <int N, class T>
bool aligned(const T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % (N * sizeof(T)) == 0;
}

constexpr int block_threads = 256;
/// Of kernels that work on rows; registers are limited to what so many threads have.
constexpr int most_row_threads = 1024;

/// Blocks for `items` of a grid-stride loop.
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block = block_threads) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((items + per_block - 1) / per_block, 1, 1 << 20));
}

/// Threads of a block that works on a row of `columns`, one vector or four elements each, or more.
inline unsigned row_threads(std::int64_t columns, int vector) {
  const std::int64_t of_warp = warp_size * std::max(vector, 4);
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((columns + of_warp - 1) / of_warp * warp_size, warp_size, most_row_threads));
}

/// Calls `f` with the vector length (a std::integral_constant) that rows of `columns` elements of all
/// pointers allow.
template <class F, class... T>
void with_vectors(std::int64_t columns, F&& f, T*... pointers) {
  constexpr int n = widest<T...>;
  if (columns % n == 0 && (aligned<n>(pointers) && ...)) {
    f(std::integral_constant<int, n>{});
  } else {
    f(std::integral_constant<int, 1>{});
  }
}

/// Calls f(column, value) for the first `columns` of a row, shared out over the block.
template <int N, class T, class F>
__device__ inline void for_row(const T* row, std::int64_t columns, F f) {
  for (std::int64_t c = threadIdx.x * N; c < columns; c += blockDim.x * N) {
    const auto v = load<N>(row + c);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      if (c + k < columns) f(c + k, to_float(v.at[k]));
    }
  }
}

/// Replaces each value of a row by f(column, value).
template <int N, class T, class F>
__device__ inline void replace_row(T* row, std::int64_t columns, F f) {
  for (std::int64_t c = threadIdx.x * N; c < columns; c += blockDim.x * N) {
    auto v = load<N>(row + c);
#pragma unroll
    for (int k = 0; k < N; ++k) v.at[k] = from_float<T>(f(c + k, to_float(v.at[k])));
    store<N>(row + c, v);
  }
}

#ifndef STEPCAST_EMULATED_GPU  // tests run the kernels on a CPU, with a launch() of their own

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, cudaStream_t stream,
            Arguments... arguments) {
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
}

inline void check_launch(const char* kernel) { check_cuda(cudaGetLastError(), kernel); }

__device__ inline std::uint64_t device_nanoseconds() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

#endif

}  // namespace stepcast::kernels
