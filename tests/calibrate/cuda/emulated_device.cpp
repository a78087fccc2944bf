#include "emulated_gpu.hpp"
// The kernels themselves, compiled for the emulated GPU.
#include <cstdlib>
#include <cstring>

#include "calibrate/cuda/attention.hpp"
#include "calibrate/cuda/elementwise.cu"
#include "calibrate/cuda/rows.cu"
#include "calibrate/cuda/softmax.cu"
#include "device_under_test.hpp"

namespace stepcast {
namespace {

template <class T>
float element(const Tensor& tensor, std::int64_t i) {
  return kernels::to_float(static_cast<const T*>(tensor.data)[i]);
}

/// CudaDevice with the emulated GPU in the place of a real one, and products by three loops.
class EmulatedDevice : public ComputeDevice {
 public:
  EmulatedDevice() { facts_.dtypes = {Dtype::fp32, Dtype::bf16, Dtype::fp16}; }

  const DeviceFacts& facts() const override { return facts_; }
  std::shared_ptr<void> allocate(std::int64_t bytes) override {
    const auto size = (static_cast<std::size_t>(bytes) + 255) / 256 * 256;
    void* memory = std::aligned_alloc(256, size);
    std::memset(memory, 0, size);
    return {memory, std::free};
  }
  Bytes take_peak_memory() override { return Bytes(0); }
  void upload(Tensor to, const float* from) override {
    kernels::copy({const_cast<float*>(from), to.count, Dtype::fp32}, to, 1, nullptr);
  }
  void download(Tensor from, float* to) override {
    kernels::copy(from, {to, from.count, Dtype::fp32}, 1, nullptr);
  }
  void upload_ids(void* to, const std::int32_t* from, std::int64_t count) override {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof *from);
  }
  void fill_random(Tensor to, std::uint64_t seed, float deviation) override {
    kernels::fill_random(to, seed, deviation, nullptr);
  }
  void gemm(const GemmCall& call) override {
    kernels::with_type(call.a.type, [&]<class In>(In) {
      kernels::with_type(call.c.type, [&]<class Out>(Out) { multiply<In, Out>(call); });
    });
  }
  void bias_forward(Tensor y, Tensor bias, std::int64_t rows) override {
    kernels::bias_forward(y, bias, rows, nullptr);
  }
  void bias_backward(Tensor dy, Tensor gradient, std::int64_t rows) override {
    kernels::bias_backward(dy, gradient, rows, nullptr);
  }
  void norm_forward(Tensor x, Tensor weight, Tensor bias, Tensor y, Tensor statistics,
                    std::int64_t rows) override {
    kernels::norm_forward(x, weight, bias, y, statistics, rows, nullptr);
  }
  void norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor dy, Tensor dx, Tensor weight_gradient,
                     Tensor bias_gradient, std::int64_t rows) override {
    kernels::norm_backward(x, weight, statistics, dy, dx, weight_gradient, bias_gradient, rows, nullptr);
  }
  void activation_forward(PointWise kind, Tensor x, Tensor y) override {
    kernels::activation_forward(kind, x, y, nullptr);
  }
  void activation_backward(PointWise kind, Tensor x, Tensor dy, Tensor dx) override {
    kernels::activation_backward(kind, x, dy, dx, nullptr);
  }
  void add(Tensor a, Tensor b, Tensor sum) override { kernels::add(a, b, sum, nullptr); }
  std::int64_t attention_saved(const AttentionCall& call) const override {
    return call.samples * call.heads * call.length * call.length;
  }
  void attention_forward(const AttentionCall& call) override { run_attention_forward(call, tools()); }
  void attention_backward(const AttentionCall& call, Tensor output_gradient, Tensor qkv_gradient) override {
    run_attention_backward(call, output_gradient, qkv_gradient, tools());
  }
  void embedding_forward(const void* ids, Tensor token, Tensor position, Tensor y, std::int64_t rows,
                         std::int64_t length) override {
    kernels::embedding_forward(static_cast<const std::int32_t*>(ids), token, position, y, rows, length,
                               nullptr);
  }
  void embedding_backward(const void* ids, Tensor dy, Tensor token_gradient, Tensor position_gradient,
                          std::int64_t rows, std::int64_t length) override {
    kernels::embedding_backward(static_cast<const std::int32_t*>(ids), dy, token_gradient, position_gradient,
                                rows, length, nullptr);
  }
  void cross_entropy(Tensor logits, const void* targets, Tensor loss, std::int64_t rows,
                     float scale) override {
    kernels::cross_entropy(logits, static_cast<const std::int32_t*>(targets), loss, rows, scale, nullptr);
  }
  void adamw(Tensor parameters, Tensor gradients, Tensor first, Tensor second,
             const AdamW& settings) override {
    kernels::adamw(parameters, gradients, first, second, settings, nullptr);
  }
  void copy(Tensor from, Tensor to, float scale) override { kernels::copy(from, to, scale, nullptr); }
  void zero(Tensor what) override { std::memset(what.data, 0, static_cast<std::size_t>(what.size().value)); }
  void pause(Seconds time) override { kernels::pause(time, nullptr); }
  void synchronize() override {}
  Sample timed(const std::function<void()>& body) override {
    body();
    return {};
  }

 private:
  AttentionTools tools() {
    return {[this](const GemmCall& call) { gemm(call); },
            [this](std::int64_t bytes) { return allocate(bytes); }, nullptr};
  }

  template <class In, class Out>
  static void multiply(const GemmCall& call) {
    for (std::int64_t n = 0; n < call.batch; ++n) {
      const Tensor a = call.a.part(n * call.rows * call.depth, call.rows * call.depth);
      const Tensor b = call.b.part(n * call.depth * call.columns, call.depth * call.columns);
      const Tensor c = call.c.part(n * call.rows * call.columns, call.rows * call.columns);
      for (std::int64_t i = 0; i < call.rows; ++i) {
        for (std::int64_t j = 0; j < call.columns; ++j) {
          float sum = call.accumulate ? element<Out>(c, i * call.columns + j) : 0.0F;
          for (std::int64_t k = 0; k < call.depth; ++k) {
            sum += element<In>(a, call.transpose_a ? k * call.rows + i : i * call.depth + k) *
                   element<In>(b, call.transpose_b ? j * call.depth + k : k * call.columns + j);
          }
          static_cast<Out*>(c.data)[i * call.columns + j] = kernels::from_float<Out>(sum);
        }
      }
    }
  }

  DeviceFacts facts_;
};

}  // namespace

ComputeDevice* device_under_test() {
#ifdef __SANITIZE_THREAD__
  return nullptr;  // it can't follow the coroutines
#else
  static EmulatedDevice device;
  return &device;
#endif
}

}  // namespace stepcast
