#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "calibrate/device.hpp"
#include "calibrate/host/host_clock.hpp"
#include "calibrate/host/host_memory.hpp"
#include "calibrate/host/kernels/table.hpp"

namespace stepcast {

/// One CPU core. Kernels run at once, on the calling thread; fp32 only. Layer norms add 1e-5 to the variance;
/// gelu is the tanh form, as in GPT-2.
class HostDevice final : public ComputeDevice {
 public:
  /// @param facts  `memory_capacity` is what allocate() hands out at most
  HostDevice(DeviceFacts facts, const HostKernels& kernels);

  const DeviceFacts& facts() const override { return facts_; }
  std::shared_ptr<void> allocate(std::int64_t bytes) override { return memory_.allocate(bytes); }
  Bytes take_peak_memory() override { return Bytes(static_cast<double>(memory_.take_peak())); }
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
  std::int64_t attention_saved(const AttentionCall& call) const override;
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

  void synchronize() override { timeline_.worked(); }
  Sample timed(const std::function<void()>& body) override;

  /// For communicators, on which the compute stream waits.
  [[nodiscard]] DeviceTimeline& timeline() { return timeline_; }

 private:
  void launched();  // counts a kernel, which is real work

  DeviceFacts facts_;
  const HostKernels& kernels_;
  HostMemory memory_;
  DeviceTimeline timeline_;
  std::vector<float> scores_;  // scratch of attention's backward
  int launches_{};
};

}  // namespace stepcast
