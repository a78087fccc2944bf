#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace stepcast {

/// The machine, not the user's input, is at fault: out of device memory, a library that is missing, a call
/// that failed. main shows it as `stepcast: error: ...`; exit code 3.
class MachineError : public std::runtime_error {
 public:
  explicit MachineError(const std::string& message, std::string what_to_do = "")
      : std::runtime_error(message), hint(std::move(what_to_do)) {}
  std::string hint;
};

/// A view of elements in a device's memory; it owns nothing.
struct Tensor {
  void* data{};
  std::int64_t count{};
  Dtype type{Dtype::fp32};

  [[nodiscard]] Tensor part(std::int64_t first, std::int64_t elements) const {
    const auto offset = static_cast<std::int64_t>(element_size(type)) * first;
    return {static_cast<char*>(data) + offset, elements, type};
  }
  [[nodiscard]] Bytes size() const { return Bytes(element_size(type) * static_cast<double>(count)); }
  /// Of fp32 elements in host memory.
  [[nodiscard]] float* floats() const { return static_cast<float*>(data); }
};

/// What a device is, for profiles and for people.
struct DeviceFacts {
  std::string profile_name;  ///< of the [gpu] or [host] section that holds for it: "cpu-host", "h100-sxm"
  std::string model;         ///< as the driver or /proc/cpuinfo names it
  int sms{1};
  double compute_capability{};  ///< 0 on hosts
  Bytes memory_capacity;
  std::vector<Dtype> dtypes;                                  ///< in which gemm runs
  std::vector<std::pair<std::string, std::string>> versions;  ///< "CUPTI" -> "13.0", "Gloo" -> ...
};

/// c = op(a) op(b), or c += with `accumulate`. Row-major; op(a) is rows x depth, op(b) depth x columns; a
/// transposed operand is stored as depth x rows, or columns x depth. `batch` products lie one after the
/// other.
struct GemmCall {
  Tensor a, b, c;
  std::int64_t rows{}, columns{}, depth{}, batch{1};
  bool transpose_a{}, transpose_b{}, accumulate{};
};

/// Unfused or fused causal attention of `samples` sequences. `qkv` is (samples x length) rows of 3 x heads x
/// head_dim; `output` rows of heads x head_dim. `saved` keeps what the backward needs
/// (attention_saved elements of `qkv`'s type).
struct AttentionCall {
  Tensor qkv, output, saved;
  std::int64_t samples{}, length{}, heads{}, head_dim{};
  bool causal{true};
};

enum class PointWise { gelu, relu };

/// beta1, beta2, epsilon and weight decay of AdamW as torch.optim.AdamW defines them (decoupled decay).
struct AdamW {
  double learning_rate{1e-3}, beta1{0.9}, beta2{0.999}, epsilon{1e-8}, weight_decay{0.01};
  int step{1};  ///< counts from 1, for bias correction
};

/// How long a body of kernels took.
struct Sample {
  Seconds time;    ///< on the device: first kernel's start to last kernel's end
  Seconds busy;    ///< on the device: sum of the kernels' own times (hosts: as `time`)
  Seconds host;    ///< CPU time of the issuing thread: what launching costs (hosts: CPU time of the work)
  int kernels{1};  ///< launched
};

/// One GPU, or one CPU core: memory and the kernels that training and calibration are made of. Kernels are
/// issued in order to one compute stream; a host runs each at once. Matrices are row-major, `rows` x
/// `columns`. Activations and weights are of the tensors' type; gradients of weights, statistics, loss and
/// optimizer states are fp32. Kernels that produce gradients of weights add to what is there.
/// Not safe to share between threads. All throw MachineError.
class ComputeDevice {
 public:
  ComputeDevice() = default;
  ComputeDevice(const ComputeDevice&) = delete;
  ComputeDevice& operator=(const ComputeDevice&) = delete;
  virtual ~ComputeDevice() = default;

  [[nodiscard]] virtual const DeviceFacts& facts() const = 0;

  // Memory.
  /// Zeroed; freed with the last copy of the handle, which must not outlive the device.
  [[nodiscard]] virtual std::shared_ptr<void> allocate(std::int64_t bytes) = 0;
  /// Largest sum of what allocate() handed out since the device was opened, or since the last call.
  [[nodiscard]] virtual Bytes take_peak_memory() = 0;
  virtual void upload(Tensor to, const float* from) = 0;  ///< converts; blocks
  virtual void download(Tensor from, float* to) = 0;      ///< converts; blocks until the stream is done
  virtual void upload_ids(void* to, const std::int32_t* from, std::int64_t count) = 0;
  /// Normal, mean 0, deterministic in `seed`; real data, because power depends on it.
  virtual void fill_random(Tensor to, std::uint64_t seed, float deviation) = 0;

  // Kernels.
  virtual void gemm(const GemmCall& call) = 0;
  virtual void bias_forward(Tensor y, Tensor bias, std::int64_t rows) = 0;             ///< y += bias
  virtual void bias_backward(Tensor dy, Tensor bias_gradient, std::int64_t rows) = 0;  ///< += column sums
  /// statistics: 2 fp32 a row (mean, 1 / deviation).
  virtual void norm_forward(Tensor x, Tensor weight, Tensor bias, Tensor y, Tensor statistics,
                            std::int64_t rows) = 0;
  virtual void norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor dy, Tensor dx,
                             Tensor weight_gradient, Tensor bias_gradient, std::int64_t rows) = 0;
  virtual void activation_forward(PointWise kind, Tensor x, Tensor y) = 0;
  virtual void activation_backward(PointWise kind, Tensor x, Tensor dy, Tensor dx) = 0;
  virtual void add(Tensor a, Tensor b, Tensor sum) = 0;  ///< residual; sum may be a or b
  [[nodiscard]] virtual std::int64_t attention_saved(const AttentionCall& call) const = 0;
  virtual void attention_forward(const AttentionCall& call) = 0;
  virtual void attention_backward(const AttentionCall& call, Tensor output_gradient, Tensor qkv_gradient) = 0;
  /// y = token[ids] + position[row mod length]; `position` may be empty. ids: int32, one a row.
  virtual void embedding_forward(const void* ids, Tensor token, Tensor position, Tensor y, std::int64_t rows,
                                 std::int64_t length) = 0;
  virtual void embedding_backward(const void* ids, Tensor dy, Tensor token_gradient, Tensor position_gradient,
                                  std::int64_t rows, std::int64_t length) = 0;
  /// Mean cross-entropy of `rows` rows over classes, added to loss[0] (fp32) times `scale`; logits become
  /// their gradient times `scale`.
  virtual void cross_entropy(Tensor logits, const void* targets, Tensor loss, std::int64_t rows,
                             float scale) = 0;
  virtual void adamw(Tensor parameters, Tensor gradients, Tensor first, Tensor second,
                     const AdamW& settings) = 0;
  /// to = scale x from, converting between types; a plain copy when scale is 1.
  virtual void copy(Tensor from, Tensor to, float scale = 1) = 0;
  virtual void zero(Tensor what) = 0;
  /// The compute stream is idle for this long: hosts sleep, GPUs spin on one thread. For paced models.
  /// On hosts a pause that follows another (or a wait of a communicator) ends where it would have ended
  /// without late wake-ups, however late the caller is; a kernel or synchronize() in between breaks that
  /// chain.
  virtual void pause(Seconds time) = 0;

  // Time.
  virtual void synchronize() = 0;
  /// Runs `body`, which issues kernels, waits for them, and says how long they took.
  virtual Sample timed(const std::function<void()>& body) = 0;
};

}  // namespace stepcast
