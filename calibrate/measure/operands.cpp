#include "calibrate/measure/operands.hpp"

#include <algorithm>
#include <cmath>

#include "base/hash.hpp"

namespace stepcast {
namespace {

using Call = std::function<void()>;

constexpr std::int64_t alignment = 256;
/// Inputs and results each: together above the caches of a core (2 MiB on servers of the 2020s) and of a GPU
/// (126 MB on B200), below a host's shared last level, which training finds as warm as calibration does.
constexpr double host_rotation = 32.0 * 1024 * 1024, gpu_rotation = 512.0 * 1024 * 1024;
constexpr int most_sets = 64;
constexpr float deviation = 0.5F;

double rotation_of(const DeviceFacts& device) {
  return device.compute_capability > 0 ? gpu_rotation : host_rotation;
}

std::int64_t bytes_of(std::int64_t count, Dtype type) {
  const auto bytes = static_cast<std::int64_t>(element_size(type)) * count;
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Random elements that are repeated through a tensor: drawing them costs more than copying.
constexpr std::int64_t pattern_elements = 1 << 20;

void repeat(ComputeDevice& device, Tensor pattern, Tensor to) {
  for (std::int64_t done = 0; done < to.count; done += pattern.count) {
    const std::int64_t now = std::min(pattern.count, to.count - done);
    if (to.part(done, now).data != pattern.data) device.copy(pattern.part(0, now), to.part(done, now));
  }
}

void fill(ComputeDevice& device, Tensor tensor) {
  const Tensor pattern = tensor.part(0, std::min(pattern_elements, tensor.count));
  device.fill_random(pattern, golden_ratio, deviation);
  repeat(device, pattern, tensor);
}

/// Hands out the tensors of one set of operands; without memory it only counts them.
class Slices {
 public:
  explicit Slices(const ComputeDevice* device) : counted_for_(device) {}
  Slices(ComputeDevice& device, void* inputs, void* results, const void* ids, void* random)
      : device_(&device),
        counted_for_(&device),
        inputs_(inputs),
        results_(results),
        random_(random),
        ids_(ids) {}

  /// Random, only read.
  Tensor input(std::int64_t count, Dtype type) { return take(inputs_, input_bytes_, count, type); }
  /// Written or added to, from zero.
  Tensor result(std::int64_t count, Dtype type) {
    const Tensor tensor = take(results_, result_bytes_, count, type);
    if (device_) device_->zero(tensor);
    return tensor;
  }
  /// Random, and changed in place.
  Tensor changed(std::int64_t count, Dtype type) {
    const Tensor tensor = take(results_, result_bytes_, count, type);
    if (device_) repeat(*device_, {random_, std::min(pattern_elements, count), type}, tensor);
    return tensor;
  }
  [[nodiscard]] ComputeDevice* device() const { return device_; }
  [[nodiscard]] const ComputeDevice* counted_for() const { return counted_for_; }
  [[nodiscard]] const void* ids() const { return ids_; }
  [[nodiscard]] OperandSizes taken() const {
    return {Bytes(static_cast<double>(input_bytes_)), Bytes(static_cast<double>(result_bytes_)), {}};
  }

 private:
  static Tensor take(void* base, std::int64_t& used, std::int64_t count, Dtype type) {
    Tensor tensor{base ? static_cast<char*>(base) + used : nullptr, count, type};
    used += bytes_of(count, type);
    return tensor;
  }

  ComputeDevice* device_{};
  const ComputeDevice* counted_for_{};
  void *inputs_{}, *results_{}, *random_{};
  const void* ids_{};
  std::int64_t input_bytes_{}, result_bytes_{};
};

Call product(const Measurement& what, Slices& slices) {
  GemmCall call;
  call.rows = what.rows;
  call.columns = what.columns;
  call.depth = what.depth;
  // Tensor cores multiply fp8 in one layout, into wider results; frameworks keep transposed copies for it.
  const bool fp8 = what.dtype == Dtype::fp8;
  call.transpose_a = what.transpose_a && !fp8;
  call.transpose_b = what.transpose_b || fp8;
  call.accumulate = what.transpose_a;
  call.a = slices.input(what.rows * what.depth, what.dtype);
  call.b = slices.input(what.depth * what.columns, what.dtype);
  call.c = slices.result(what.rows * what.columns, call.accumulate ? Dtype::fp32
                                                   : fp8           ? Dtype::bf16
                                                                   : what.dtype);
  return [device = slices.device(), call] { device->gemm(call); };
}

Call attention(const Measurement& what, Slices& slices) {
  AttentionCall call;
  call.samples = what.samples;
  call.length = what.length;
  call.heads = what.heads;
  call.head_dim = what.head_dim;
  const std::int64_t outputs = what.samples * what.length * what.heads * what.head_dim;
  call.qkv = slices.input(3 * outputs, what.dtype);
  call.output = slices.result(outputs, what.dtype);
  const std::int64_t scores = what.samples * what.heads * what.length * what.length;
  const ComputeDevice* counted_for = slices.counted_for();
  call.saved = slices.result(counted_for ? counted_for->attention_saved(call) : scores, what.dtype);
  ComputeDevice* device = slices.device();
  if (what.pass == Pass::forward) return [device, call] { device->attention_forward(call); };
  const Tensor output_gradient = slices.input(outputs, what.dtype);
  const Tensor qkv_gradient = slices.result(3 * outputs, what.dtype);
  if (device) device->attention_forward(call);
  return [=] { device->attention_backward(call, output_gradient, qkv_gradient); };
}

Call norm(const Measurement& what, Slices& slices) {
  const std::int64_t rows = what.elements / what.columns;
  const Tensor x = slices.input(what.elements, what.dtype), weight = slices.input(what.columns, what.dtype);
  const Tensor bias = slices.input(what.columns, what.dtype), y = slices.result(what.elements, what.dtype);
  const Tensor statistics = slices.result(2 * rows, Dtype::fp32);
  ComputeDevice* device = slices.device();
  if (what.pass == Pass::forward) return [=] { device->norm_forward(x, weight, bias, y, statistics, rows); };
  const Tensor dy = slices.input(what.elements, what.dtype);
  const Tensor weight_gradient = slices.result(what.columns, Dtype::fp32);
  const Tensor bias_gradient = slices.result(what.columns, Dtype::fp32);
  if (device) device->norm_forward(x, weight, bias, y, statistics, rows);
  return [=] { device->norm_backward(x, weight, statistics, dy, y, weight_gradient, bias_gradient, rows); };
}

Call bias(const Measurement& what, Slices& slices) {
  const std::int64_t rows = what.elements / what.columns;
  ComputeDevice* device = slices.device();
  if (what.pass == Pass::forward) {
    const Tensor y = slices.changed(what.elements, what.dtype);
    const Tensor values = slices.input(what.columns, what.dtype);
    return [=] { device->bias_forward(y, values, rows); };
  }
  const Tensor dy = slices.input(what.elements, what.dtype);
  const Tensor gradient = slices.result(what.columns, Dtype::fp32);
  return [=] { device->bias_backward(dy, gradient, rows); };
}

Call activation(const Measurement& what, Slices& slices) {
  const Tensor x = slices.input(what.elements, what.dtype), y = slices.result(what.elements, what.dtype);
  ComputeDevice* device = slices.device();
  if (what.pass == Pass::forward) return [=] { device->activation_forward(PointWise::gelu, x, y); };
  const Tensor dy = slices.input(what.elements, what.dtype);
  return [=] { device->activation_backward(PointWise::gelu, x, dy, y); };
}

/// Forward: x + f(x). Backward: the two gradients that meet, the same kernel.
Call residual(const Measurement& what, Slices& slices) {
  const Tensor a = slices.input(what.elements, what.dtype), b = slices.input(what.elements, what.dtype);
  const Tensor sum = slices.result(what.elements, what.dtype);
  return [device = slices.device(), a, b, sum] { device->add(a, b, sum); };
}

/// As one sequence: positions are as many as rows.
Call embedding(const Measurement& what, Slices& slices) {
  const std::int64_t rows = what.elements / what.columns;
  const void* ids = slices.ids();
  ComputeDevice* device = slices.device();
  if (what.pass == Pass::forward) {
    const Tensor token = slices.input(what.rows * what.columns, what.dtype);
    const Tensor position = slices.input(what.elements, what.dtype);
    const Tensor y = slices.result(what.elements, what.dtype);
    return [=] { device->embedding_forward(ids, token, position, y, rows, rows); };
  }
  const Tensor dy = slices.input(what.elements, what.dtype);
  const Tensor token = slices.result(what.rows * what.columns, Dtype::fp32);
  const Tensor position = slices.result(what.elements, Dtype::fp32);
  return [=] { device->embedding_backward(ids, dy, token, position, rows, rows); };
}

Call cross_entropy(const Measurement& what, Slices& slices) {
  const Tensor logits = slices.changed(what.elements, what.dtype), loss = slices.result(1, Dtype::fp32);
  const std::int64_t rows = what.elements / what.columns;
  return [device = slices.device(), logits, loss, rows, targets = slices.ids()] {
    device->cross_entropy(logits, targets, loss, rows, 1);
  };
}

Call copy(const Measurement& what, Slices& slices) {
  const Tensor from = slices.input(what.elements, what.dtype), to = slices.result(what.elements, what.dtype);
  return [device = slices.device(), from, to] { device->copy(from, to); };
}

Call adamw(const Measurement& what, Slices& slices) {
  const Tensor parameters = slices.changed(what.elements, Dtype::fp32);
  const Tensor gradients = slices.input(what.elements, Dtype::fp32);
  const Tensor first = slices.result(what.elements, Dtype::fp32);
  const Tensor second = slices.result(what.elements, Dtype::fp32);
  return [device = slices.device(), parameters, gradients, first, second] {
    device->adamw(parameters, gradients, first, second, AdamW{});
  };
}

Call kernel(const Measurement& what, Slices& slices) {
  if (what.operation == "norm") return norm(what, slices);
  if (what.operation == "bias") return bias(what, slices);
  if (what.operation == "activation") return activation(what, slices);
  if (what.operation == "residual") return residual(what, slices);
  if (what.operation == "embedding") return embedding(what, slices);
  if (what.operation == "cross_entropy") return cross_entropy(what, slices);
  if (what.operation == "copy") return copy(what, slices);
  STEPCAST_CHECK(what.operation == "adamw", "a kernel that is not known: " + what.operation);
  return adamw(what, slices);
}

/// The least that a kernel can do: what remains is its launch.
Call launch(Slices& slices) {
  const Tensor from = slices.input(1, Dtype::fp32), to = slices.result(1, Dtype::fp32);
  return [device = slices.device(), from, to] { device->copy(from, to); };
}

Call one_set(const Measurement& what, Slices& slices) {
  switch (what.kind) {
    case Measurement::Kind::gemm:
    case Measurement::Kind::overlap:
    case Measurement::Kind::sustained:
      return product(what, slices);
    case Measurement::Kind::attention:
      return attention(what, slices);
    case Measurement::Kind::kernel:
      return kernel(what, slices);
    case Measurement::Kind::launch:
      return launch(slices);
    case Measurement::Kind::host_copy:
      return {};
    case Measurement::Kind::collective:
      return {};
  }
  return {};
}

/// Rows that need an id, and how many different ones there are.
std::pair<std::int64_t, std::int64_t> ids_of(const Measurement& what) {
  if (what.kind != Measurement::Kind::kernel) return {0, 0};
  if (what.operation == "embedding") return {what.elements / what.columns, what.rows};
  if (what.operation == "cross_entropy") return {what.elements / what.columns, what.columns};
  return {0, 0};
}

bool communicates(const Measurement& what) {
  return what.kind == Measurement::Kind::collective || what.kind == Measurement::Kind::overlap;
}

struct BufferCounts {
  std::int64_t input, output;
  bool in_place;
};

BufferCounts buffer_counts(const Measurement& what) {
  const auto ranks = std::max<std::int64_t>(1, static_cast<std::int64_t>(what.ranks.size()));
  const auto elements = static_cast<std::int64_t>(std::ceil(what.bytes.value / element_size(what.dtype)));
  const std::int64_t share = (elements + ranks - 1) / ranks, full = share * ranks;
  switch (what.collective) {
    case Operation::all_gather:
      return {share, full, false};
    case Operation::reduce_scatter:
      return {full, share, false};
    case Operation::all_to_all:
    case Operation::send_recv:
      return {full, full, false};
    case Operation::all_reduce:
    case Operation::broadcast:
    case Operation::reduce:
      return {full, full, true};
  }
  return {full, full, false};
}

}  // namespace

OperandSizes operand_sizes(const Measurement& what, const ComputeDevice* device) {
  Slices slices(device);
  (void)one_set(what, slices);
  OperandSizes sizes = slices.taken();
  if (communicates(what)) {
    const BufferCounts counts = buffer_counts(what);
    std::int64_t bytes = bytes_of(counts.output, what.dtype);
    if (!counts.in_place) bytes += bytes_of(counts.input, what.dtype);
    sizes.buffers = Bytes(static_cast<double>(bytes));
  }
  if (what.kind == Measurement::Kind::host_copy) sizes.buffers = what.bytes;
  return sizes;
}

Bytes workbench_memory(const OperandSizes& largest, const DeviceFacts& device) {
  const Bytes rotation(rotation_of(device));
  return std::max(largest.inputs, rotation) + std::max(largest.results, rotation) + largest.buffers;
}

Workbench::Workbench(ComputeDevice& device, const OperandSizes& largest) : device_(device) {
  const Bytes rotation(rotation_of(device.facts()));
  sizes_ = {std::max(largest.inputs, rotation), std::max(largest.results, rotation), largest.buffers};
  inputs_ = device.allocate(static_cast<std::int64_t>(sizes_.inputs.value));
  results_ = device.allocate(static_cast<std::int64_t>(sizes_.results.value));
  if (sizes_.buffers.value > 0) buffers_ = device.allocate(static_cast<std::int64_t>(sizes_.buffers.value));
}

void Workbench::fill_inputs(Dtype type) {
  if (filled_with_ == type) return;
  fill(device_, {inputs_.get(), static_cast<std::int64_t>(sizes_.inputs.value / element_size(type)), type});
  filled_with_ = type;
}

void Workbench::prepare_ids(const Measurement& what) {
  const auto [count, different] = ids_of(what);
  if (count == 0) return;
  std::vector<std::int32_t> ids;
  std::uint64_t state = golden_ratio;
  for (std::int64_t i = 0; i < count; ++i) {
    state = splitmix64(state);
    ids.push_back(static_cast<std::int32_t>(state % static_cast<std::uint64_t>(different)));
  }
  ids_ = device_.allocate(static_cast<std::int64_t>(sizeof(std::int32_t)) * count);
  device_.upload_ids(ids_.get(), ids.data(), count);
}

std::function<void()> Workbench::prepare(const Measurement& what) {
  fill_inputs(what.dtype);
  prepare_ids(what);
  const OperandSizes one = operand_sizes(what, &device_);
  STEPCAST_CHECK(one.inputs <= sizes_.inputs && one.results <= sizes_.results,
                 "a workbench that is too small for its measurement");
  const double share = std::max(one.inputs / sizes_.inputs, one.results / sizes_.results);
  const int sets = share > 0 ? std::clamp(static_cast<int>(1 / share), 1, most_sets) : 1;
  std::vector<Call> calls;
  auto* inputs = static_cast<char*>(inputs_.get());
  auto* results = static_cast<char*>(results_.get());
  for (int i = 0; i < sets; ++i) {
    Slices slices(device_, inputs, results, ids_.get(), inputs_.get());
    calls.push_back(one_set(what, slices));
    inputs += static_cast<std::int64_t>(slices.taken().inputs.value);
    results += static_cast<std::int64_t>(slices.taken().results.value);
  }
  device_.synchronize();
  return [calls = std::move(calls), next = std::size_t{0}]() mutable {
    calls[next]();
    next = (next + 1) % calls.size();
  };
}

CollectiveRequest Workbench::request(const Measurement& what) {
  const BufferCounts counts = buffer_counts(what);
  CollectiveRequest request;
  request.operation = what.collective;
  request.output = {buffers_.get(), counts.output, what.dtype};
  fill(device_, request.output);
  request.input = request.output;
  if (!counts.in_place) {
    void* behind = static_cast<char*>(buffers_.get()) + bytes_of(counts.output, what.dtype);
    request.input = {behind, counts.input, what.dtype};
    fill(device_, request.input);
  }
  device_.synchronize();
  return request;
}

void OperandSizes::raise_to(const OperandSizes& other) {
  inputs = std::max(inputs, other.inputs);
  results = std::max(results, other.results);
  buffers = std::max(buffers, other.buffers);
}

}  // namespace stepcast
