#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstdint>

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

/// Whether vectors of N elements lie where they may be loaded at once, and fill rows of `columns` elements.
template <int N, class T>
bool aligned(const T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % (N * sizeof(T)) == 0;
}

constexpr int block_threads = 256;

/// Blocks for `items` of a grid-stride loop.
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block = block_threads) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((items + per_block - 1) / per_block, 1, 1 << 20));
}

/// Threads of a block that works on a row of `columns`, four or so elements each.
inline unsigned row_threads(std::int64_t columns) {
  const std::int64_t warps = (columns / 4 + warp_size - 1) / warp_size;
  return static_cast<unsigned>(std::clamp<std::int64_t>(warps, 1, 32)) * warp_size;
}

inline void check_launch(const char* kernel) { check_cuda(cudaGetLastError(), kernel); }

}  // namespace stepcast::kernels
