#include "calibrate/cuda/kernel_support.cuh"
#include "calibrate/cuda/kernels.hpp"

namespace stepcast::kernels {
namespace {

template <class T>
__global__ void cross_entropy_kernel(T* logits, const std::int32_t* targets, float* loss, std::int64_t rows,
                                     std::int64_t classes, float scale) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    T* row = logits + r * classes;
    // Each thread keeps the sum relative to its own maximum, so that one pass is enough.
    float maximum = -INFINITY, sum = 0.0F;
    for (std::int64_t c = threadIdx.x; c < classes; c += blockDim.x) {
      const float value = to_float(row[c]);
      if (value > maximum) {
        sum *= __expf(maximum - value);
        maximum = value;
      }
      sum += __expf(value - maximum);
    }
    const float of_row = block_maximum(maximum);
    sum = block_sum(maximum == -INFINITY ? 0.0F : sum * __expf(maximum - of_row));
    const std::int64_t target = targets[r];
    if (threadIdx.x == 0) atomicAdd(loss, scale * (logf(sum) + of_row - to_float(row[target])));
    __syncthreads();  // the target's logit is read before it is overwritten
    const float inverse = 1.0F / sum;
    for (std::int64_t c = threadIdx.x; c < classes; c += blockDim.x) {
      const float probability = __expf(to_float(row[c]) - of_row) * inverse;
      row[c] = from_float<T>(scale * (probability - (c == target ? 1.0F : 0.0F)));
    }
  }
}

template <class T>
__global__ void softmax_kernel(T* scores, std::int64_t rows, std::int64_t length, float scale, bool causal) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    T* row = scores + r * length;
    const std::int64_t seen = causal ? r % length + 1 : length;
    float maximum = -INFINITY;
    for (std::int64_t c = threadIdx.x; c < seen; c += blockDim.x) maximum = fmaxf(maximum, to_float(row[c]));
    maximum = block_maximum(maximum);
    float sum = 0.0F;
    for (std::int64_t c = threadIdx.x; c < seen; c += blockDim.x) {
      sum += __expf(scale * (to_float(row[c]) - maximum));
    }
    const float inverse = 1.0F / block_sum(sum);
    for (std::int64_t c = threadIdx.x; c < length; c += blockDim.x) {
      row[c] = from_float<T>(c < seen ? __expf(scale * (to_float(row[c]) - maximum)) * inverse : 0.0F);
    }
  }
}

template <class T>
__global__ void softmax_backward_kernel(const T* weights, T* gradient, std::int64_t rows, std::int64_t length,
                                        float scale) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    float product = 0.0F;
    for (std::int64_t c = threadIdx.x; c < length; c += blockDim.x) {
      product += to_float(weights[r * length + c]) * to_float(gradient[r * length + c]);
    }
    product = block_sum(product);
    for (std::int64_t c = threadIdx.x; c < length; c += blockDim.x) {
      const std::int64_t i = r * length + c;
      gradient[i] = from_float<T>(scale * to_float(weights[i]) * (to_float(gradient[i]) - product));
    }
  }
}

struct HeadShape {
  std::int64_t samples, length, heads, vectors, parts;  ///< vectors: of a head's dimension
};

/// Walks over [part][sample][head][position][vector] and copies to or from
/// [sample][position][part][head][vector].
template <bool split, class V>
__global__ void heads_kernel(const V* from, V* to, HeadShape shape) {
  const std::int64_t count = shape.parts * shape.samples * shape.heads * shape.length * shape.vectors;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    std::int64_t rest = i;
    const std::int64_t vector = rest % shape.vectors;
    rest /= shape.vectors;
    const std::int64_t position = rest % shape.length;
    rest /= shape.length;
    const std::int64_t head = rest % shape.heads;
    rest /= shape.heads;
    const std::int64_t sample = rest % shape.samples;
    const std::int64_t part = rest / shape.samples;
    const std::int64_t j =
        (((sample * shape.length + position) * shape.parts + part) * shape.heads + head) * shape.vectors +
        vector;
    if constexpr (split) {
      to[i] = from[j];
    } else {
      to[j] = from[i];
    }
  }
}

template <bool split>
void move_heads(Tensor from, Tensor to, const AttentionCall& call, std::int64_t parts, cudaStream_t stream) {
  if (from.count == 0) return;
  with_type(from.type, [&]<class T>(T) {
    const auto move = [&]<int N>(std::integral_constant<int, N>) {
      using V = Vector<T, N>;
      heads_kernel<split><<<blocks_for(from.count / N), block_threads, 0, stream>>>(
          data<const V>(from), data<V>(to),
          HeadShape{call.samples, call.length, call.heads, call.head_dim / N, parts});
    };
    constexpr int n = widest<T>;
    if (call.head_dim % n == 0 && aligned<n>(data<T>(from)) && aligned<n>(data<T>(to))) {
      move(std::integral_constant<int, n>{});
    } else {
      move(std::integral_constant<int, 1>{});
    }
  });
  check_launch("rearrange attention heads");
}

}  // namespace

void cross_entropy(Tensor logits, const std::int32_t* targets, Tensor loss, std::int64_t rows, float scale,
                   cudaStream_t stream) {
  if (logits.count == 0) return;
  with_type(logits.type, [&]<class T>(T) {
    const std::int64_t classes = logits.count / rows;
    cross_entropy_kernel<<<blocks_for(rows, 1), row_threads(classes), 0, stream>>>(
        data<T>(logits), targets, data<float>(loss), rows, classes, scale / static_cast<float>(rows));
  });
  check_launch("compute the loss");
}

void softmax_forward(Tensor scores, std::int64_t length, float scale, bool causal, cudaStream_t stream) {
  if (scores.count == 0) return;
  with_type(scores.type, [&]<class T>(T) {
    const std::int64_t rows = scores.count / length;
    softmax_kernel<<<blocks_for(rows, 1), row_threads(length), 0, stream>>>(data<T>(scores), rows, length,
                                                                            scale, causal);
  });
  check_launch("compute a softmax");
}

void softmax_backward(Tensor weights, Tensor gradient, std::int64_t length, float scale,
                      cudaStream_t stream) {
  if (weights.count == 0) return;
  with_type(weights.type, [&]<class T>(T) {
    const std::int64_t rows = weights.count / length;
    softmax_backward_kernel<<<blocks_for(rows, 1), row_threads(length), 0, stream>>>(
        data<const T>(weights), data<T>(gradient), rows, length, scale);
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
