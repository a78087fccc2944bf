#include "calibrate/cuda/cuda_device.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/print.hpp"
#include "calibrate/cuda/attention.hpp"
#include "calibrate/cuda/cuda_error.hpp"
#include "calibrate/cuda/device_name.hpp"
#include "calibrate/cuda/kernels.hpp"

namespace stepcast {
namespace {

constexpr double usable_share = 0.9;  // of the memory that is free when the device is opened

std::string version_text(int version) {  // of the runtime and the driver: major x 1000 + minor x 10
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, ordinal), "read an attribute of the GPU");
  return value;
}

/// Types of products that the tensor cores of a compute capability have, and fp32, which every GPU has.
std::vector<Dtype> product_types(double compute_capability) {
  std::vector<Dtype> types{Dtype::fp32};
  if (compute_capability >= 7.0) types.push_back(Dtype::fp16);
  if (compute_capability >= 8.0) types.insert(types.end(), {Dtype::tf32, Dtype::bf16});
  if (compute_capability >= 8.9) types.push_back(Dtype::fp8);
  return types;
}

/// Keeps the pages of a large host buffer in place while it is copied: then the bus, and not a detour over
/// the driver's own buffer, sets the rate.
class PinnedPages {
 public:
  PinnedPages(const void* data, std::size_t bytes) : data_(const_cast<void*>(data)) {
    constexpr std::size_t worthwhile = std::size_t{1} << 16U;
    pinned_ = bytes >= worthwhile && cudaHostRegister(data_, bytes, cudaHostRegisterDefault) == cudaSuccess;
    if (!pinned_) cudaGetLastError();  // a copy works without
  }
  ~PinnedPages() {
    if (pinned_) cudaHostUnregister(data_);
  }
  PinnedPages(const PinnedPages&) = delete;
  PinnedPages& operator=(const PinnedPages&) = delete;

 private:
  void* data_;
  bool pinned_;
};

bool asked_for_events() {
  const char* asked = std::getenv("STEPCAST_TIMER");
  const std::string_view how = asked != nullptr ? asked : "cupti";
  if (how != "cupti" && how != "events") {
    throw MachineError("STEPCAST_TIMER is " + std::string(how), "set it to cupti or events");
  }
  return how == "events";
}

bool is_fp32(Dtype type) { return type == Dtype::fp32 || type == Dtype::tf32; }

}  // namespace

CudaDevice::CudaDevice(int ordinal, std::function<void(const std::string&)> note)
    : note_(std::move(note)), events_(asked_for_events()) {
  check_cuda(cudaSetDevice(ordinal), "use the GPU");
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "describe the GPU");
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "tell how much memory the GPU has");
  facts_.model = properties.name;
  facts_.profile_name = gpu_profile_name(facts_.model);
  facts_.sms = attribute(cudaDevAttrMultiProcessorCount, ordinal);
  facts_.compute_capability = attribute(cudaDevAttrComputeCapabilityMajor, ordinal) +
                              0.1 * attribute(cudaDevAttrComputeCapabilityMinor, ordinal);
  facts_.memory_capacity = Bytes(static_cast<double>(total));
  facts_.dtypes = product_types(facts_.compute_capability);
  int runtime = 0, driver = 0;
  check_cuda(cudaRuntimeGetVersion(&runtime), "tell its version");
  check_cuda(cudaDriverGetVersion(&driver), "tell the driver's version");
  add_version("CUDA runtime", version_text(runtime));
  add_version("CUDA of the driver", version_text(driver));

  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
  memory_ = std::make_shared<MemoryPool>(stream_, Bytes(usable_share * static_cast<double>(free)));
  blas_ = std::make_unique<Blas>(facts_.compute_capability, stream_);
  add_version("cuBLASLt", blas_->version());
  add_version("CUPTI", events_ ? "not used, timed by events" : cupti_version());
}

CudaDevice::~CudaDevice() {
  cudaStreamSynchronize(stream_);
  timer_.reset();
  blas_.reset();
  memory_.reset();
  cudaStreamDestroy(stream_);
}

std::shared_ptr<void> CudaDevice::allocate(std::int64_t bytes) { return memory_->allocate(bytes); }

Bytes CudaDevice::take_peak_memory() { return memory_->take_peak(); }

void CudaDevice::upload(Tensor to, const float* from) {
  if (to.count == 0) return;
  const auto bytes = sizeof(float) * static_cast<std::size_t>(to.count);
  const bool direct = is_fp32(to.type);
  const auto converted = direct ? nullptr : memory_->scratch(static_cast<std::int64_t>(bytes));
  const Tensor target{direct ? to.data : converted.get(), to.count, Dtype::fp32};
  const PinnedPages pages(from, bytes);
  check_cuda(cudaMemcpyAsync(target.data, from, bytes, cudaMemcpyHostToDevice, stream_), "copy to the GPU");
  if (!direct) kernels::copy(target, to, 1, stream_);
  ++launches_;
  synchronize();
}

void CudaDevice::download(Tensor from, float* to) {
  if (from.count == 0) return;
  const auto bytes = sizeof(float) * static_cast<std::size_t>(from.count);
  const bool direct = is_fp32(from.type);
  const auto converted = direct ? nullptr : memory_->scratch(static_cast<std::int64_t>(bytes));
  const Tensor source{direct ? from.data : converted.get(), from.count, Dtype::fp32};
  if (!direct) kernels::copy(from, source, 1, stream_);
  const PinnedPages pages(to, bytes);
  check_cuda(cudaMemcpyAsync(to, source.data, bytes, cudaMemcpyDeviceToHost, stream_), "copy from the GPU");
  ++launches_;
  synchronize();
}

void CudaDevice::upload_ids(void* to, const std::int32_t* from, std::int64_t count) {
  if (count == 0) return;
  const auto bytes = sizeof(std::int32_t) * static_cast<std::size_t>(count);
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copy to the GPU");
  ++launches_;
  synchronize();
}

void CudaDevice::fill_random(Tensor to, std::uint64_t seed, float deviation) {
  kernels::fill_random(to, seed, deviation, stream_);
  launches_ += to.count > 0 ? 1 : 0;
}

void CudaDevice::gemm(const GemmCall& call) {
  blas_->gemm(call);
  ++launches_;
}

void CudaDevice::bias_forward(Tensor y, Tensor bias, std::int64_t rows) {
  kernels::bias_forward(y, bias, rows, stream_);
  launches_ += y.count > 0 ? 1 : 0;
}

void CudaDevice::bias_backward(Tensor dy, Tensor bias_gradient, std::int64_t rows) {
  kernels::bias_backward(dy, bias_gradient, rows, stream_);
  launches_ += dy.count > 0 ? 1 : 0;
}

void CudaDevice::norm_forward(Tensor x, Tensor weight, Tensor bias, Tensor y, Tensor statistics,
                              std::int64_t rows) {
  kernels::norm_forward(x, weight, bias, y, statistics, rows, stream_);
  launches_ += x.count > 0 ? 1 : 0;
}

void CudaDevice::norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor dy, Tensor dx,
                               Tensor weight_gradient, Tensor bias_gradient, std::int64_t rows) {
  kernels::norm_backward(x, weight, statistics, dy, dx, weight_gradient, bias_gradient, rows, stream_);
  launches_ += x.count > 0 ? 2 : 0;
}

void CudaDevice::activation_forward(PointWise kind, Tensor x, Tensor y) {
  kernels::activation_forward(kind, x, y, stream_);
  launches_ += x.count > 0 ? 1 : 0;
}

void CudaDevice::activation_backward(PointWise kind, Tensor x, Tensor dy, Tensor dx) {
  kernels::activation_backward(kind, x, dy, dx, stream_);
  launches_ += x.count > 0 ? 1 : 0;
}

void CudaDevice::add(Tensor a, Tensor b, Tensor sum) {
  kernels::add(a, b, sum, stream_);
  launches_ += a.count > 0 ? 1 : 0;
}

std::int64_t CudaDevice::attention_saved(const AttentionCall& call) const {
  return call.samples * call.heads * call.length * call.length;
}

AttentionTools CudaDevice::attention_tools() {
  return {[this](const GemmCall& call) { gemm(call); },
          [this](std::int64_t bytes) { return memory_->scratch(bytes); }, stream_};
}

void CudaDevice::attention_forward(const AttentionCall& call) {
  run_attention_forward(call, attention_tools());
}

void CudaDevice::attention_backward(const AttentionCall& call, Tensor output_gradient, Tensor qkv_gradient) {
  run_attention_backward(call, output_gradient, qkv_gradient, attention_tools());
}

void CudaDevice::embedding_forward(const void* ids, Tensor token, Tensor position, Tensor y,
                                   std::int64_t rows, std::int64_t length) {
  kernels::embedding_forward(static_cast<const std::int32_t*>(ids), token, position, y, rows, length,
                             stream_);
  launches_ += y.count > 0 ? 1 : 0;
}

void CudaDevice::embedding_backward(const void* ids, Tensor dy, Tensor token_gradient,
                                    Tensor position_gradient, std::int64_t rows, std::int64_t length) {
  kernels::embedding_backward(static_cast<const std::int32_t*>(ids), dy, token_gradient, position_gradient,
                              rows, length, stream_);
  launches_ += dy.count > 0 ? 1 : 0;
}

void CudaDevice::cross_entropy(Tensor logits, const void* targets, Tensor loss, std::int64_t rows,
                               float scale) {
  kernels::cross_entropy(logits, static_cast<const std::int32_t*>(targets), loss, rows, scale, stream_);
  launches_ += logits.count > 0 ? 1 : 0;
}

void CudaDevice::adamw(Tensor parameters, Tensor gradients, Tensor first, Tensor second,
                       const AdamW& settings) {
  kernels::adamw(parameters, gradients, first, second, settings, stream_);
  launches_ += parameters.count > 0 ? 1 : 0;
}

void CudaDevice::copy(Tensor from, Tensor to, float scale) {
  if (from.count == 0) return;
  if (const bool plain = scale == 1.0F && element_size(from.type) == element_size(to.type) &&
                         (from.type == to.type || is_fp32(from.type));
      plain) {
    if (from.data == to.data) return;
    check_cuda(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(from.size().value),
                               cudaMemcpyDeviceToDevice, stream_),
               "copy on the GPU");
  } else {
    kernels::copy(from, to, scale, stream_);
  }
  ++launches_;
}

void CudaDevice::zero(Tensor what) {
  if (what.count == 0) return;
  check_cuda(cudaMemsetAsync(what.data, 0, static_cast<std::size_t>(what.size().value), stream_),
             "zero memory");
  ++launches_;
}

void CudaDevice::pause(Seconds time) {
  kernels::pause(time, stream_);
  ++launches_;
}

void CudaDevice::synchronize() {
  check_cuda(cudaStreamSynchronize(stream_), "finish what the GPU was given");
}

Seconds CudaDevice::wall_time_of_launches() {
  constexpr int launches = 1000;
  const auto target = memory_->scratch(1);
  const Tensor element{target.get(), 1, Dtype::fp32};
  const auto issue = [&] {
    for (int i = 0; i < launches; ++i) kernels::add(element, element, element, stream_);
    synchronize();
  };
  issue();
  const auto start = std::chrono::steady_clock::now();
  issue();
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / launches);
}

void CudaDevice::open_timer() {
  if (events_) {
    timer_ = open_event_timer(stream_);
    return;
  }
  const Seconds without = wall_time_of_launches();
  timer_ = open_cupti_timer(stream_);
  const Seconds with = wall_time_of_launches();
  note_("CUPTI makes a launch take " + print_time(with) + " instead of " + print_time(without));
}

Sample CudaDevice::timed(const std::function<void()>& body) {
  if (timer_ == nullptr) open_timer();
  return timer_->timed([&] {
    const int before = launches_;
    body();
    return launches_ - before;
  });
}

}  // namespace stepcast
