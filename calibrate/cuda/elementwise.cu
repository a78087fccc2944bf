#include "base/hash.hpp"
#include "calibrate/cuda/kernel_support.cuh"
#include "calibrate/cuda/kernels.hpp"

namespace stepcast::kernels {
namespace {

struct Gelu {
  // The tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); Hendrycks and Gimpel, arXiv 1606.08415.
  static constexpr float slope = 0.7978845608F, cubic = 0.044715F;
  __device__ float operator()(float x) const {
    return 0.5F * x * (1.0F + tanhf(slope * (x + cubic * x * x * x)));
  }
  __device__ float operator()(float x, float dy) const {
    const float t = tanhf(slope * (x + cubic * x * x * x));
    return dy * (0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * slope * (1.0F + 3.0F * cubic * x * x));
  }
};

struct Relu {
  __device__ float operator()(float x) const { return x > 0.0F ? x : 0.0F; }
  __device__ float operator()(float x, float dy) const { return x > 0.0F ? dy : 0.0F; }
};

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

struct Scale {
  float factor;
  __device__ float operator()(float x) const { return factor * x; }
};

template <int N, class Out, class F, class... In>
__device__ void apply(Out* out, F f, const Vector<In, N>&... in) {
  Vector<Out, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result.at[k] = from_float<Out>(f(to_float(in.at[k])...));
  store<N>(out, result);
}

/// out = f(in...), element by element; N elements at once, then the rest. `out` may be one of `in`.
template <int N, class Out, class F, class... In>
__global__ void map_kernel(std::int64_t count, Out* out, F f, const In*... in) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t vectors = count / N;
  for (std::int64_t i = thread; i < vectors; i += stride) apply<N>(out + i * N, f, load<N>(in + i * N)...);
  for (std::int64_t i = vectors * N + thread; i < count; i += stride)
    apply<1>(out + i, f, load<1>(in + i)...);
}

template <class Out, class F, class... In>
void map(std::int64_t count, Out* out, F f, cudaStream_t stream, const In*... in) {
  if (count == 0) return;
  constexpr int n = widest<Out, In...>;
  if (aligned<n>(out) && (aligned<n>(in) && ...)) {
    launch(map_kernel<n, Out, F, In...>, blocks_for(count / n + 1), block_threads, stream, count, out, f,
           in...);
  } else {
    launch(map_kernel<1, Out, F, In...>, blocks_for(count), block_threads, stream, count, out, f, in...);
  }
}

template <class F>
void with_any_type(Dtype type, F&& f) {
  if (type == Dtype::fp8) return f(__nv_fp8_e4m3{});
  with_type(type, f);
}

/// Box and Muller's pair of normal values from the i-th number of SplitMix64.
template <class T>
__global__ void random_kernel(std::int64_t count, T* to, std::uint64_t seed, float deviation) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; 2 * i < count;
       i += stride) {
    const std::uint64_t bits = splitmix64(splitmix64(seed) + golden_ratio * static_cast<std::uint64_t>(i));
    const float above_zero = (static_cast<float>(bits >> 40U) + 1.0F) * 0x1p-24F;
    const float turns = static_cast<float>((bits >> 8U) & 0xffffffU) * 0x1p-24F;
    const float radius = deviation * sqrtf(-2.0F * logf(above_zero));
    float sine, cosine;
    sincospif(2.0F * turns, &sine, &cosine);
    to[2 * i] = from_float<T>(radius * cosine);
    if (2 * i + 1 < count) to[2 * i + 1] = from_float<T>(radius * sine);
  }
}

/// torch.optim.AdamW: decay, then the step with bias-corrected moments.
struct AdamStep {
  float beta1, beta2, epsilon, kept, step_size, second_correction;

  __device__ void operator()(float& parameter, float gradient, float& first, float& second) const {
    first = beta1 * first + (1.0F - beta1) * gradient;
    second = beta2 * second + (1.0F - beta2) * gradient * gradient;
    parameter = parameter * kept - step_size * first / (sqrtf(second) * second_correction + epsilon);
  }
};

template <int N, class T>
__global__ void adamw_kernel(std::int64_t count, T* parameters, const float* gradients, float* first,
                             float* second, AdamStep step) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count / N;
       i += stride) {
    auto p = load<N>(parameters + i * N);
    const auto g = load<N>(gradients + i * N);
    auto m = load<N>(first + i * N);
    auto v = load<N>(second + i * N);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      float parameter = to_float(p.at[k]);
      step(parameter, g.at[k], m.at[k], v.at[k]);
      p.at[k] = from_float<T>(parameter);
    }
    store<N>(parameters + i * N, p);
    store<N>(first + i * N, m);
    store<N>(second + i * N, v);
  }
}

__global__ void pause_kernel(std::uint64_t nanoseconds) {
  const std::uint64_t start = device_nanoseconds();
  while (device_nanoseconds() - start < nanoseconds) __nanosleep(200);
}

}  // namespace

void activation_forward(PointWise kind, Tensor x, Tensor y, cudaStream_t stream) {
  with_type(x.type, [&]<class T>(T) {
    if (kind == PointWise::gelu) {
      map(x.count, data<T>(y), Gelu{}, stream, data<const T>(x));
    } else {
      map(x.count, data<T>(y), Relu{}, stream, data<const T>(x));
    }
  });
  check_launch("apply an activation");
}

void activation_backward(PointWise kind, Tensor x, Tensor dy, Tensor dx, cudaStream_t stream) {
  with_type(x.type, [&]<class T>(T) {
    if (kind == PointWise::gelu) {
      map(x.count, data<T>(dx), Gelu{}, stream, data<const T>(x), data<const T>(dy));
    } else {
      map(x.count, data<T>(dx), Relu{}, stream, data<const T>(x), data<const T>(dy));
    }
  });
  check_launch("differentiate an activation");
}

void add(Tensor a, Tensor b, Tensor sum, cudaStream_t stream) {
  with_type(a.type, [&]<class T>(T) {
    map(a.count, data<T>(sum), Sum{}, stream, data<const T>(a), data<const T>(b));
  });
  check_launch("add");
}

void copy(Tensor from, Tensor to, float scale, cudaStream_t stream) {
  with_any_type(from.type, [&]<class From>(From) {
    with_any_type(to.type, [&]<class To>(To) {
      map(from.count, data<To>(to), Scale{scale}, stream, data<const From>(from));
    });
  });
  check_launch("copy and convert");
}

void fill_random(Tensor to, std::uint64_t seed, float deviation, cudaStream_t stream) {
  if (to.count == 0) return;
  with_any_type(to.type, [&]<class T>(T) {
    launch(random_kernel<T>, blocks_for((to.count + 1) / 2), block_threads, stream, to.count, data<T>(to),
           seed, deviation);
  });
  check_launch("fill with random numbers");
}

void adamw(Tensor parameters, Tensor gradients, Tensor first, Tensor second, const AdamW& settings,
           cudaStream_t stream) {
  if (parameters.count == 0) return;
  const double correction1 = 1.0 - std::pow(settings.beta1, settings.step);
  const double correction2 = 1.0 - std::pow(settings.beta2, settings.step);
  const AdamStep step{static_cast<float>(settings.beta1),
                      static_cast<float>(settings.beta2),
                      static_cast<float>(settings.epsilon),
                      static_cast<float>(1.0 - settings.learning_rate * settings.weight_decay),
                      static_cast<float>(settings.learning_rate / correction1),
                      static_cast<float>(1.0 / std::sqrt(correction2))};
  with_type(parameters.type, [&]<class T>(T) {
    T* p = data<T>(parameters);
    const auto* g = data<const float>(gradients);
    auto *m = data<float>(first), *v = data<float>(second);
    const std::int64_t count = parameters.count;
    if (count % 4 == 0 && aligned<4>(p) && aligned<4>(g) && aligned<4>(m) && aligned<4>(v)) {
      launch(adamw_kernel<4, T>, blocks_for(count / 4), block_threads, stream, count, p, g, m, v, step);
    } else {
      launch(adamw_kernel<1, T>, blocks_for(count), block_threads, stream, count, p, g, m, v, step);
    }
  });
  check_launch("run AdamW");
}

void pause(Seconds time, cudaStream_t stream) {
  launch(pause_kernel, 1, 1, stream, static_cast<std::uint64_t>(std::max(0.0, time.value) * 1e9));
  check_launch("pause");
}

}  // namespace stepcast::kernels
