#include "calibrate/cuda/kernel_support.cuh"
#include "calibrate/cuda/kernels.hpp"

namespace stepcast::kernels {
namespace {

template <int N, class T>
__global__ void __launch_bounds__(most_row_threads)
    cross_entropy_kernel(T* logits, const std::int32_t* targets, float* loss, std::int64_t rows,
                         std::int64_t classes, float scale) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    T* row = logits + r * classes;
    // Each thread keeps the sum relative to its own maximum, so that one pass is enough.
    float maximum = -INFINITY, sum = 0.0F;
    for_row<N>(row, classes, [&](std::int64_t, float value) {
      if (value > maximum) {
        sum *= __expf(maximum - value);
        maximum = value;
      }
      sum += __expf(value - maximum);
    });
    const float of_row = block_maximum(maximum);
    sum = block_sum(maximum == -INFINITY ? 0.0F : sum * __expf(maximum - of_row));
    const std::int64_t target = targets[r];
    if (threadIdx.x == 0) atomicAdd(loss, scale * (logf(sum) + of_row - to_float(row[target])));
    __syncthreads();  // the target's logit is read before it is overwritten
    const float inverse = 1.0F / sum;
    replace_row<N>(row, classes, [=](std::int64_t c, float value) {
      return scale * (__expf(value - of_row) * inverse - (c == target ? 1.0F : 0.0F));
    });
  }
}

template <int N, class T>
__global__ void __launch_bounds__(most_row_threads)
    softmax_kernel(T* scores, std::int64_t rows, std::int64_t length, float scale, bool causal) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    T* row = scores + r * length;
    const std::int64_t seen = causal ? r % length + 1 : length;
    float maximum = -INFINITY;
    for_row<N>(row, seen, [&](std::int64_t, float value) { maximum = fmaxf(maximum, value); });
    maximum = block_maximum(maximum);
    float sum = 0.0F;
    for_row<N>(row, seen, [&](std::int64_t, float value) { sum += __expf(scale * (value - maximum)); });
    const float inverse = 1.0F / block_sum(sum);
    replace_row<N>(row, length, [=](std::int64_t c, float value) {
      return c < seen ? __expf(scale * (value - maximum)) * inverse : 0.0F;
    });
  }
}

template <int N, class T>
__global__ void __launch_bounds__(most_row_threads)
    softmax_backward_kernel(const T* weights, T* gradient, std::int64_t rows, std::int64_t length,
                            float scale) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* w = weights + r * length;
    T* g = gradient + r * length;
    float product = 0.0F;
    for (std::int64_t c = threadIdx.x * N; c < length; c += blockDim.x * N) {
      const auto weight = load<N>(w + c), of_weight = load<N>(static_cast<const T*>(g) + c);
#pragma unroll
      for (int k = 0; k < N; ++k) product += to_float(weight.at[k]) * to_float(of_weight.at[k]);
    }
    product = block_sum(product);
    for (std::int64_t c = threadIdx.x * N; c < length; c += blockDim.x * N) {
      const auto weight = load<N>(w + c);
      auto of_weight = load<N>(static_cast<const T*>(g) + c);
#pragma unroll
      for (int k = 0; k < N; ++k) {
        of_weight.at[k] =
            from_float<T>(scale * to_float(weight.at[k]) * (to_float(of_weight.at[k]) - product));
      }
      store<N>(g + c, of_weight);
    }
  }
}

struct HeadShape {
  unsigned samples, length, heads, vectors, parts;  ///< vectors: of a head's dimension
};

/// Copies matrices [part][sample][head], each of [position][vector], from or to rows of [part][head][vector].
template <bool split, class V>
__global__ void heads_kernel(const V* from, V* to, HeadShape shape) {
  const unsigned matrices = shape.parts * shape.samples * shape.heads, size = shape.length * shape.vectors;
  for (unsigned matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    const unsigned head = matrix % shape.heads, sample = matrix / shape.heads % shape.samples,
                   part = matrix / shape.heads / shape.samples;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
      const unsigned position = i / shape.vectors, vector = i % shape.vectors;
      const std::int64_t row = static_cast<std::int64_t>(sample) * shape.length + position;
      const std::int64_t in_rows = ((row * shape.parts + part) * shape.heads + head) * shape.vectors + vector;
      const std::int64_t in_matrices = static_cast<std::int64_t>(matrix) * size + i;
      if constexpr (split) {
        to[in_matrices] = from[in_rows];
      } else {
        to[in_rows] = from[in_matrices];
      }
    }
  }
}

template <bool split>
void move_heads(Tensor from, Tensor to, const AttentionCall& call, std::int64_t parts, cudaStream_t stream) {
  if (from.count == 0) return;
  with_type(from.type, [&]<class T>(T) {
    with_vectors(
        call.head_dim,
        [&](auto n) {
          using V = Vector<T, n>;
          const HeadShape shape{static_cast<unsigned>(call.samples), static_cast<unsigned>(call.length),
                                static_cast<unsigned>(call.heads), static_cast<unsigned>(call.head_dim / n),
                                static_cast<unsigned>(parts)};
          const unsigned matrices = shape.parts * shape.samples * shape.heads;
          const dim3 blocks(blocks_for(static_cast<std::int64_t>(shape.length) * shape.vectors),
                            std::min(matrices, 65535U));
          launch(heads_kernel<split, V>, blocks, block_threads, stream, data<const V>(from), data<V>(to),
                 shape);
        },
        data<T>(from), data<T>(to));
  });
  check_launch("rearrange attention heads");
}

}  // namespace

void cross_entropy(Tensor logits, const std::int32_t* targets, Tensor loss, std::int64_t rows, float scale,
                   cudaStream_t stream) {
  if (logits.count == 0) return;
  with_type(logits.type, [&]<class T>(T) {
    const std::int64_t classes = logits.count / rows;
    with_vectors(
        classes,
        [&](auto n) {
          launch(cross_entropy_kernel<n, T>, blocks_for(rows, 1), row_threads(classes, n), stream,
                 data<T>(logits), targets, data<float>(loss), rows, classes,
                 scale / static_cast<float>(rows));
        },
        data<T>(logits));
  });
  check_launch("compute the loss");
}

void softmax_forward(Tensor scores, std::int64_t length, float scale, bool causal, cudaStream_t stream) {
  if (scores.count == 0) return;
  with_type(scores.type, [&]<class T>(T) {
    const std::int64_t rows = scores.count / length;
    with_vectors(
        length,
        [&](auto n) {
          launch(softmax_kernel<n, T>, blocks_for(rows, 1), row_threads(length, n), stream, data<T>(scores),
                 rows, length, scale, causal);
        },
        data<T>(scores));
  });
  check_launch("compute a softmax");
}

void softmax_backward(Tensor weights, Tensor gradient, std::int64_t length, float scale,
                      cudaStream_t stream) {
  if (weights.count == 0) return;
  with_type(weights.type, [&]<class T>(T) {
    const std::int64_t rows = weights.count / length;
    with_vectors(
        length,
        [&](auto n) {
          launch(softmax_backward_kernel<n, T>, blocks_for(rows, 1), row_threads(length, n), stream,
                 data<const T>(weights), data<T>(gradient), rows, length, scale);
        },
        data<const T>(weights), data<T>(gradient));
  });
  check_launch("differentiate a softmax");
}

void split_heads(Tensor rows, Tensor heads, const AttentionCall& call, std::int64_t parts,
                 cudaStream_t stream) {
  move_heads<true>(rows, heads, call, parts, stream);
}

void merge_heads(Tensor heads, Tensor rows, const AttentionCall& call, std::int64_t parts,
                 cudaStream_t stream) {
  move_heads<false>(heads, rows, call, parts, stream);
}

}  // namespace stepcast::kernels
