#pragma once

#include <driver_types.h>

#include <functional>
#include <memory>
#include <string>

#include "calibrate/cuda/attention.hpp"
#include "calibrate/cuda/blas.hpp"
#include "calibrate/cuda/kernel_timer.hpp"
#include "calibrate/cuda/memory_pool.hpp"
#include "calibrate/device.hpp"

namespace stepcast {

/// One GPU. Products run in cuBLASLt, everything else in the kernels of kernels.hpp. Layer norms have an
/// epsilon of 1e-5, GELU is the tanh form, attention is unfused: the heads are rearranged, scores multiplied
/// out. The first timed() opens CUPTI, measures what it adds to a launch, and puts that into facts(). The
/// environment's STEPCAST_TIMER=events times by CUDA events instead.
class CudaDevice : public ComputeDevice {
 public:
  /// @param note  takes a line for people
  CudaDevice(int ordinal, std::function<void(const std::string&)> note);
  ~CudaDevice() override;

  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  void add_version(const std::string& what, const std::string& version) {
    facts_.versions.emplace_back(what, version);
  }

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }
  [[nodiscard]] std::shared_ptr<void> allocate(std::int64_t bytes) override;
  [[nodiscard]] Bytes take_peak_memory() override;
  void upload(Tensor to, const float* from) override;
  void download(Tensor from, float* to) override;
  void upload_ids(void* to, const std::int32_t* from, std::int64_t count) override;
  void fill_random(Tensor to, std::uint64_t seed, float deviation) override;
  void gemm(const GemmCall& call) override;
  void bias_forward(Tensor y, Tensor bias, std::int64_t rows) override;
  void bias_backward(Tensor dy, Tensor bias_gradient, std::int64_t rows) override;
  void norm_forward(Tensor x, Tensor weight, Tensor bias, Tensor y, Tensor statistics,
                    std::int64_t rows) override;
  void norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor dy, Tensor dx, Tensor weight_gradient,
                     Tensor bias_gradient, std::int64_t rows) override;
  void activation_forward(PointWise kind, Tensor x, Tensor y) override;
  void activation_backward(PointWise kind, Tensor x, Tensor dy, Tensor dx) override;
  void add(Tensor a, Tensor b, Tensor sum) override;
  [[nodiscard]] std::int64_t attention_saved(const AttentionCall& call) const override;
  void attention_forward(const AttentionCall& call) override;
  void attention_backward(const AttentionCall& call, Tensor output_gradient, Tensor qkv_gradient) override;
  void embedding_forward(const void* ids, Tensor token, Tensor position, Tensor y, std::int64_t rows,
                         std::int64_t length) override;
  void embedding_backward(const void* ids, Tensor dy, Tensor token_gradient, Tensor position_gradient,
                          std::int64_t rows, std::int64_t length) override;
  void cross_entropy(Tensor logits, const void* targets, Tensor loss, std::int64_t rows,
                     float scale) override;
  void adamw(Tensor parameters, Tensor gradients, Tensor first, Tensor second,
             const AdamW& settings) override;
  void copy(Tensor from, Tensor to, float scale) override;
  void zero(Tensor what) override;
  void pause(Seconds time) override;
  void synchronize() override;
  Sample timed(const std::function<void()>& body) override;

 private:
  [[nodiscard]] AttentionTools attention_tools();
  void open_timer();
  [[nodiscard]] Seconds wall_time_of_launches();

  DeviceFacts facts_;
  std::function<void(const std::string&)> note_;
  bool events_{};  ///< instead of CUPTI
  cudaStream_t stream_{};
  std::shared_ptr<MemoryPool> memory_;
  std::unique_ptr<Blas> blas_;
  std::unique_ptr<KernelTimer> timer_;
  int launches_{};  ///< were made, or more: cuBLASLt may take several for a product
};

}  // namespace stepcast
