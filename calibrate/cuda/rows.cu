#include "calibrate/cuda/kernel_support.cuh"
#include "calibrate/cuda/kernels.hpp"

namespace stepcast::kernels {
namespace {

constexpr float norm_epsilon = 1e-5F;  // torch.nn.LayerNorm's

/// Threads over the columns of a matrix, `N` each, and blocks over its rows.
struct RowGrid {
  dim3 blocks, threads;
};

RowGrid row_grid(std::int64_t rows, std::int64_t vectors) {
  unsigned x = warp_size;
  while (x < block_threads && x < vectors) x *= 2;
  const unsigned y = block_threads / x;
  const auto across = static_cast<unsigned>((vectors + x - 1) / x);
  // A few thousand blocks fill every GPU; more would only reload the vectors that all rows share.
  const std::int64_t down = std::clamp<std::int64_t>(4096 / across, 1, (rows + y - 1) / y);
  return {dim3(across, static_cast<unsigned>(std::min<std::int64_t>(down, 65535))), dim3(x, y)};
}

template <int N, class T>
__global__ void bias_kernel(T* y, const T* bias, std::int64_t rows, std::int64_t columns) {
  const std::int64_t c = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
  if (c >= columns) return;
  const auto b = load<N>(bias + c);
  for (std::int64_t r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y) {
    auto v = load<N>(y + r * columns + c);
#pragma unroll
    for (int k = 0; k < N; ++k) v.at[k] = from_float<T>(to_float(v.at[k]) + to_float(b.at[k]));
    store<N>(y + r * columns + c, v);
  }
}

constexpr int sum_rows = block_threads / warp_size;

/// Adds sums over a block's rows to bias_gradient (dy) and, with x, to weight_gradient (dy times normalised
/// x).
template <int N, bool norm, class T>
__global__ void column_sums_kernel(const T* dy, const T* x, const float* statistics, float* bias_gradient,
                                   float* weight_gradient, std::int64_t rows, std::int64_t columns) {
  const std::int64_t c = (static_cast<std::int64_t>(blockIdx.x) * warp_size + threadIdx.x) * N;
  float bias[N]{}, weight[N]{};
  if (c < columns) {
    for (std::int64_t r = blockIdx.y * sum_rows + threadIdx.y; r < rows; r += gridDim.y * sum_rows) {
      const auto g = load<N>(dy + r * columns + c);
      if constexpr (norm) {
        const float mean = statistics[2 * r], inverse = statistics[2 * r + 1];
        const auto v = load<N>(x + r * columns + c);
#pragma unroll
        for (int k = 0; k < N; ++k) weight[k] += to_float(g.at[k]) * (to_float(v.at[k]) - mean) * inverse;
      }
#pragma unroll
      for (int k = 0; k < N; ++k) bias[k] += to_float(g.at[k]);
    }
  }
  __shared__ float partial[sum_rows][warp_size][N];
  const auto add_up = [&](const float(&sums)[N], float* gradient) {
    for (int k = 0; k < N; ++k) partial[threadIdx.y][threadIdx.x][k] = sums[k];
    __syncthreads();
    if (threadIdx.y == 0 && c < columns) {
      for (int k = 0; k < N; ++k) {
        float sum = 0.0F;
        for (int y = 0; y < sum_rows; ++y) sum += partial[y][threadIdx.x][k];
        atomicAdd(gradient + c + k, sum);
      }
    }
    __syncthreads();
  };
  add_up(bias, bias_gradient);
  if constexpr (norm) add_up(weight, weight_gradient);
}

template <bool norm, class T>
void add_column_sums(const T* dy, const T* x, const float* statistics, float* bias_gradient,
                     float* weight_gradient, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  with_vectors(
      columns,
      [&](auto n) {
        const auto across = static_cast<unsigned>((columns + warp_size * n - 1) / (warp_size * n));
        const std::int64_t down =
            std::clamp<std::int64_t>(2048 / across, 1, (rows + sum_rows - 1) / sum_rows);
        launch(column_sums_kernel<n, norm, T>, dim3(across, static_cast<unsigned>(down)),
               dim3(warp_size, sum_rows), stream, dy, x, statistics, bias_gradient, weight_gradient, rows,
               columns);
      },
      dy, x);
}

template <int N, class T>
__global__ void __launch_bounds__(most_row_threads)
    norm_forward_kernel(const T* x, const T* weight, const T* bias, T* y, float* statistics,
                        std::int64_t rows, std::int64_t columns) {
  const auto count = static_cast<float>(columns);
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* row = x + r * columns;
    float sum = 0.0F;
    for (std::int64_t c = threadIdx.x * N; c < columns; c += blockDim.x * N) {
      const auto v = load<N>(row + c);
#pragma unroll
      for (int k = 0; k < N; ++k) sum += to_float(v.at[k]);
    }
    const float mean = block_sum(sum) / count;
    float squares = 0.0F;
    for (std::int64_t c = threadIdx.x * N; c < columns; c += blockDim.x * N) {
      const auto v = load<N>(row + c);  // from the first-level cache
#pragma unroll
      for (int k = 0; k < N; ++k) squares += (to_float(v.at[k]) - mean) * (to_float(v.at[k]) - mean);
    }
    const float inverse = rsqrtf(block_sum(squares) / count + norm_epsilon);
    if (threadIdx.x == 0) {
      statistics[2 * r] = mean;
      statistics[2 * r + 1] = inverse;
    }
    for (std::int64_t c = threadIdx.x * N; c < columns; c += blockDim.x * N) {
      auto v = load<N>(row + c);
      const auto w = load<N>(weight + c);
      const auto b = load<N>(bias + c);
#pragma unroll
      for (int k = 0; k < N; ++k) {
        v.at[k] = from_float<T>((to_float(v.at[k]) - mean) * inverse * to_float(w.at[k]) + to_float(b.at[k]));
      }
      store<N>(y + r * columns + c, v);
    }
  }
}

/// With n the normalised x and g = dy weight: dx = (g - mean(g) - n mean(g n)) / deviation.
template <int N, class T>
__global__ void __launch_bounds__(most_row_threads)
    norm_backward_kernel(const T* x, const T* weight, const float* statistics, const T* dy, T* dx,
                         std::int64_t rows, std::int64_t columns) {
  const auto count = static_cast<float>(columns);
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const float mean = statistics[2 * r], inverse = statistics[2 * r + 1];
    float sum = 0.0F, product = 0.0F;
    for (std::int64_t c = threadIdx.x * N; c < columns; c += blockDim.x * N) {
      const auto v = load<N>(x + r * columns + c);
      const auto d = load<N>(dy + r * columns + c);
      const auto w = load<N>(weight + c);
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const float g = to_float(d.at[k]) * to_float(w.at[k]);
        sum += g;
        product += g * (to_float(v.at[k]) - mean) * inverse;
      }
    }
    sum = block_sum(sum) / count;
    product = block_sum(product) / count;
    for (std::int64_t c = threadIdx.x * N; c < columns; c += blockDim.x * N) {
      const auto v = load<N>(x + r * columns + c);
      auto d = load<N>(dy + r * columns + c);
      const auto w = load<N>(weight + c);
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const float normal = (to_float(v.at[k]) - mean) * inverse;
        d.at[k] = from_float<T>(inverse * (to_float(d.at[k]) * to_float(w.at[k]) - sum - normal * product));
      }
      store<N>(dx + r * columns + c, d);
    }
  }
}

template <int N, class T>
__global__ void embedding_kernel(const std::int32_t* ids, const T* token, const T* position, T* y,
                                 std::int64_t rows, std::int64_t length, std::int64_t columns) {
  const std::int64_t c = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
  if (c >= columns) return;
  for (std::int64_t r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y) {
    auto v = load<N>(token + ids[r] * columns + c);
    if (position != nullptr) {
      const auto p = load<N>(position + r % length * columns + c);
#pragma unroll
      for (int k = 0; k < N; ++k) v.at[k] = from_float<T>(to_float(v.at[k]) + to_float(p.at[k]));
    }
    store<N>(y + r * columns + c, v);
  }
}

template <int N, class T>
__global__ void embedding_backward_kernel(const std::int32_t* ids, const T* dy, float* token, float* position,
                                          std::int64_t rows, std::int64_t length, std::int64_t columns) {
  const std::int64_t c = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
  if (c >= columns) return;
  for (std::int64_t r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y) {
    const auto g = load<N>(dy + r * columns + c);
    float* of_token = token + ids[r] * columns + c;
    float* of_position = position == nullptr ? nullptr : position + r % length * columns + c;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      atomicAdd(of_token + k, to_float(g.at[k]));
      if (of_position != nullptr) atomicAdd(of_position + k, to_float(g.at[k]));
    }
  }
}

}  // namespace

void bias_forward(Tensor y, Tensor bias, std::int64_t rows, cudaStream_t stream) {
  if (y.count == 0) return;
  with_type(y.type, [&]<class T>(T) {
    T* out = data<T>(y);
    const auto* b = data<const T>(bias);
    const std::int64_t columns = y.count / rows;
    with_vectors(
        columns,
        [&](auto n) {
          const RowGrid grid = row_grid(rows, (columns + n - 1) / n);
          launch(bias_kernel<n, T>, grid.blocks, grid.threads, stream, out, b, rows, columns);
        },
        out, b);
  });
  check_launch("add a bias");
}

void bias_backward(Tensor dy, Tensor bias_gradient, std::int64_t rows, cudaStream_t stream) {
  if (dy.count == 0) return;
  with_type(dy.type, [&]<class T>(T) {
    const auto* g = data<const T>(dy);
    add_column_sums<false>(g, g, nullptr, data<float>(bias_gradient), nullptr, rows, dy.count / rows, stream);
  });
  check_launch("sum a bias gradient");
}

void norm_forward(Tensor x, Tensor weight, Tensor bias, Tensor y, Tensor statistics, std::int64_t rows,
                  cudaStream_t stream) {
  if (x.count == 0) return;
  with_type(x.type, [&]<class T>(T) {
    const auto *in = data<const T>(x), *w = data<const T>(weight), *b = data<const T>(bias);
    T* out = data<T>(y);
    const std::int64_t columns = x.count / rows;
    with_vectors(
        columns,
        [&](auto n) {
          launch(norm_forward_kernel<n, T>, blocks_for(rows, 1), row_threads(columns, n), stream, in, w, b,
                 out, data<float>(statistics), rows, columns);
        },
        in, w, b, out);
  });
  check_launch("normalise");
}

void norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor dy, Tensor dx, Tensor weight_gradient,
                   Tensor bias_gradient, std::int64_t rows, cudaStream_t stream) {
  if (x.count == 0) return;
  with_type(x.type, [&]<class T>(T) {
    const auto *in = data<const T>(x), *w = data<const T>(weight), *g = data<const T>(dy);
    T* out = data<T>(dx);
    const auto* saved = data<const float>(statistics);
    const std::int64_t columns = x.count / rows;
    // First, since dx may be dy.
    add_column_sums<true>(g, in, saved, data<float>(bias_gradient), data<float>(weight_gradient), rows,
                          columns, stream);
    with_vectors(
        columns,
        [&](auto n) {
          launch(norm_backward_kernel<n, T>, blocks_for(rows, 1), row_threads(columns, n), stream, in, w,
                 saved, g, out, rows, columns);
        },
        in, w, g, out);
  });
  check_launch("differentiate a norm");
}

void embedding_forward(const std::int32_t* ids, Tensor token, Tensor position, Tensor y, std::int64_t rows,
                       std::int64_t length, cudaStream_t stream) {
  if (y.count == 0) return;
  with_type(y.type, [&]<class T>(T) {
    const auto *t = data<const T>(token), *p = data<const T>(position);
    T* out = data<T>(y);
    const std::int64_t columns = y.count / rows;
    with_vectors(
        columns,
        [&](auto n) {
          const RowGrid grid = row_grid(rows, (columns + n - 1) / n);
          launch(embedding_kernel<n, T>, grid.blocks, grid.threads, stream, ids, t, p, out, rows, length,
                 columns);
        },
        t, p, out);
  });
  check_launch("look up an embedding");
}

void embedding_backward(const std::int32_t* ids, Tensor dy, Tensor token_gradient, Tensor position_gradient,
                        std::int64_t rows, std::int64_t length, cudaStream_t stream) {
  if (dy.count == 0) return;
  with_type(dy.type, [&]<class T>(T) {
    const auto* g = data<const T>(dy);
    const std::int64_t columns = dy.count / rows;
    with_vectors(
        columns,
        [&](auto n) {
          const RowGrid grid = row_grid(rows, (columns + n - 1) / n);
          launch(embedding_backward_kernel<n, T>, grid.blocks, grid.threads, stream, ids, g,
                 data<float>(token_gradient), data<float>(position_gradient), rows, length, columns);
        },
        g);
  });
  check_launch("differentiate an embedding");
}

}  // namespace stepcast::kernels
