#include "sim/cost/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "sim/cost/attention.hpp"
#include "sim/cost/kernels.hpp"
#include "sim/cost/products.hpp"

namespace stepcast {

namespace {

/// Bytes of everything that a cost depends on, as the key of the memo: equal keys mean equal values.
class Key {
 public:
  void clear() { text_.clear(); }
  void add(std::string_view word) {
    add(word.size());
    text_.append(word);
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void add(T number) { text_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void add(const Traffic& traffic) {
    add(traffic.elements);
    add(traffic.fp32_elements);
    add(traffic.bytes);
    add(traffic.kernels);
    add(traffic.micro_batch_elements);
  }
  void add(const Operator& op) {
    add(op.name);
    add(op.kind);
    add(op.recomputed_by_selective);
    add(op.recomputed_by_alternate);
    switch (op.kind) {
      case OperatorKind::gemm:
        add(op.gemm.rows);
        add(op.gemm.columns);
        add(op.gemm.depth);
        add(op.gemm.groups);
        add(op.gemm.has_weight);
        add(op.gemm.input_gradient);
        break;
      case OperatorKind::convolution: {
        const ConvolutionWork& c = op.convolution;
        for (const std::int64_t n : {c.in_channels, c.out_channels, c.kernel, c.stride, c.groups, c.in_height,
                                     c.in_width, c.out_height, c.out_width}) {
          add(n);
        }
        add(c.input_gradient);
        break;
      }
      case OperatorKind::attention: {
        const AttentionWork& a = op.attention;
        for (const std::int64_t n : {a.query_heads, a.key_value_heads, a.head_dim, a.value_dim,
                                     a.query_length, a.key_length, a.window}) {
          add(n);
        }
        add(a.causal);
        add(a.dropout_masks);
        break;
      }
      case OperatorKind::memory:
        add(op.memory.eager_forward);
        add(op.memory.eager_backward);
        add(op.memory.fused_forward);
        add(op.memory.fused_backward);
        break;
    }
  }
  void add(const CostOptions& options) {
    add(options.compute);
    add(options.parameters);
    add(options.gradients);
    add(options.accumulate);
    add(options.fusion);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// a + f (b - a).
double between(double a, double b, double f) { return a + f * (b - a); }

/// fp32 weights under 16-bit products.
bool is_autocast(const CostOptions& options) {
  return element_size(options.parameters) > activation_size(options.compute);
}

/// Bytes of one element of a memory-bound operator: that of an activation, or what the software says of
/// operators that autocast runs in fp32.
double element_bytes(const SoftwareProfile& software, const std::string& name, const CostOptions& options) {
  if (is_autocast(options)) {
    for (const auto& [word, bytes] : software.autocast_bytes) {
      if (name.ends_with(word)) return bytes.value;
    }
  }
  return activation_size(options.compute);
}

/// The chain between its eager (f = 0) and its fused (f = 1) form, as the model has it; nothing when nothing
/// runs.
std::optional<Kernel> modelled_chain(const GpuProfile& gpu, const SoftwareProfile& software,
                                     const Operator& op, Pass pass, int samples, const CostOptions& options,
                                     double fusion, int& launches) {
  const bool forward = pass == Pass::forward;
  Traffic eager = forward ? op.memory.eager_forward : op.memory.eager_backward;
  const Traffic& fused = forward ? op.memory.fused_forward : op.memory.fused_backward;
  if (forward && !software.fused_bias && op.name.ends_with(".bias")) {
    // Backward reads every element of the result once; adding the bias reads and writes them.
    eager.elements += 2 * op.memory.eager_backward.elements;
    ++eager.kernels;
  }
  const double size = element_bytes(software, op.name, options);
  const auto bytes = [&](const Traffic& traffic) {
    return samples *
               (traffic.elements * size + traffic.fp32_elements * element_size(Dtype::fp32) + traffic.bytes) +
           traffic.micro_batch_elements * element_size(options.gradients);
  };
  const double moved = between(bytes(eager), bytes(fused), fusion);
  launches = static_cast<int>(std::lround(between(eager.kernels, fused.kernels, fusion)));
  if (moved <= 0 && launches == 0) return {};
  return memory_kernel(gpu, op.name + (forward ? "" : ".backward"), Bytes(moved), launches,
                       software.memory_efficiency.value);
}

void add_memory_bound(const GpuProfile& gpu, const SoftwareProfile& software, const Operator& op, Pass pass,
                      int samples, const CostOptions& options, double fusion, Work& work, int& launches) {
  auto kernel = modelled_chain(gpu, software, op, pass, samples, options, fusion, launches);
  if (!kernel) return;
  const double efficiency = software.memory_efficiency.value;
  if (const auto* const both = gpu.measured.find_both_passes(op.name, options.compute)) {
    // One kernel does forward and backward: each has its part of the time that both take together.
    int other_launches = 0;
    const auto other =
        modelled_chain(gpu, software, op, pass == Pass::forward ? Pass::backward : Pass::forward, samples,
                       options, fusion, other_launches);
    const int together = launches + other_launches;
    const Bytes moved = kernel->count * kernel->memory + (other ? other->count * other->memory : Bytes(0));
    Kernel whole = memory_kernel(gpu, "", moved, together, efficiency);
    const Seconds model = whole.time;
    use_measured(gpu, *both, whole.count, efficiency, whole);
    stretch(*kernel, whole.time / model);
  } else if (const auto* const measured = gpu.measured.find_kernel(op.name, pass, options.compute)) {
    // What another operator's kernel does has no time of its own that could be measured.
    if (launches > 0) use_measured(gpu, *measured, launches, efficiency, *kernel);
  }
  work.kernels.push_back(*std::move(kernel));
}

/// No kernel multiplies in fp8 here: fp8 stacks keep attention in bf16.
Dtype attention_type(const CostOptions& options) {
  return options.compute == Dtype::fp8 ? Dtype::bf16 : options.compute;
}

std::array<double, 3> attention_place(double heads, double head_dim, double length) {
  return {std::log(heads), std::log(head_dim), std::log(length)};
}

Seconds total_time(const std::vector<Kernel>& kernels) {
  Seconds sum;
  for (const Kernel& kernel : kernels) sum += kernel.count * kernel.time;
  return sum;
}

}  // namespace

struct CostModel::Implementation {
  GpuProfile gpu;
  SoftwareProfile software;
  // Nodes of an unordered_map stay where they are, so works may be handed out by reference within a call.
  std::unordered_map<std::string, Work> operators, layers;
  Key operator_key, layer_key;

  /// Fused kernels exist in 16 bits only; in fp32 and tf32 frameworks fall back to plain products.
  [[nodiscard]] std::string attention_kernel(Dtype compute) const {
    const bool half = compute == Dtype::bf16 || compute == Dtype::fp16;
    const bool fused =
        half && gpu.peak.contains(compute) && gpu.attention.contains(software.attention_kernel);
    return fused ? software.attention_kernel : "eager";
  }

  [[nodiscard]] std::vector<Kernel> attention_kernels(const Operator& op, Pass pass, int samples,
                                                      const CostOptions& options) const {
    const Dtype compute = attention_type(options);
    const std::string kernel = attention_kernel(compute);
    if (kernel != "eager")
      return {fused_attention(gpu, gpu.attention.at(kernel), op, pass, samples, compute)};
    const bool aligned = is_aligned(op.attention.key_length, op.attention.head_dim, compute);
    return eager_attention(gpu, software, op, pass, samples, compute, gemm_rate(gpu, compute, aligned),
                           is_autocast(options));
  }

  void use_measured_attention(const Operator& op, Pass pass, int samples, const CostOptions& options,
                              std::vector<Kernel>& kernels) const {
    const Dtype compute = attention_type(options);
    const auto measured = gpu.measured.attention.find({attention_kernel(compute), pass, compute});
    if (measured == gpu.measured.attention.end()) return;
    std::vector<ScatteredValue> ratios;
    for (const AttentionPoint& point : measured->second) {
      Operator shape;
      shape.kind = OperatorKind::attention;
      shape.attention = {
          point.heads, point.heads, point.head_dim, point.head_dim, point.length, point.length, 0, true, 0};
      const Seconds model = total_time(attention_kernels(shape, pass, point.samples, options));
      ratios.push_back(
          {attention_place(point.samples * point.heads, point.head_dim, point.length), point.time / model});
    }
    const AttentionWork& work = op.attention;
    const double ratio = interpolate_scattered(
        ratios, attention_place(static_cast<double>(samples * work.query_heads),
                                static_cast<double>(work.head_dim), static_cast<double>(work.query_length)));
    for (Kernel& kernel : kernels) stretch(kernel, ratio);
  }

  [[nodiscard]] Work compute(const Operator& op, Pass pass, int samples, CostOptions options) const {
    Work work;
    double fusion = options.fusion < 0 ? software.fusion : std::min(options.fusion, 1.0);
    int launches = -1;  // < 0: as many as kernels
    switch (op.kind) {
      case OperatorKind::gemm:
        // Stacks that train in fp8 keep the head's products in bf16.
        if (options.compute == Dtype::fp8 && op.name.starts_with("head.")) options.compute = Dtype::bf16;
        add_gemm(gpu, software, op, pass, samples, options, work);
        break;
      case OperatorKind::convolution:
        add_convolution(gpu, software, op, pass, samples, options, work);
        break;
      case OperatorKind::attention:
        work.kernels = attention_kernels(op, pass, samples, options);
        use_measured_attention(op, pass, samples, options, work.kernels);
        break;
      case OperatorKind::memory:
        if (software.fused_cross_entropy && op.name.starts_with("loss.")) fusion = 1;
        add_memory_bound(gpu, software, op, pass, samples, options, fusion, work, launches);
        break;
    }
    if (launches < 0) launches = work.kernel_count();
    work.host_time = launches * software.host_per_kernel.value;
    return work;
  }

  const Work& find(const Operator& op, Pass pass, int samples, const CostOptions& options) {
    operator_key.clear();
    operator_key.add(pass);
    operator_key.add(samples);
    operator_key.add(options);
    operator_key.add(op);
    const auto known = operators.find(operator_key.text());
    if (known != operators.end()) return known->second;
    return operators.emplace(operator_key.text(), compute(op, pass, samples, options)).first->second;
  }

  enum class Part { forward, backward, recompute };

  const Work& find(const Layer& layer, Part part, int samples, const CostOptions& options,
                   Recompute recompute = Recompute::none) {
    layer_key.clear();
    layer_key.add(part);
    layer_key.add(recompute);
    layer_key.add(samples);
    layer_key.add(options);
    for (const Operator& op : layer.operators) layer_key.add(op);
    const auto known = layers.find(layer_key.text());
    if (known != layers.end()) return known->second;
    Work work;
    const auto append = [&](const Operator& op) {
      if (part == Part::recompute && !is_recomputed(op, recompute)) return;
      const Pass pass = part == Part::backward ? Pass::backward : Pass::forward;
      work.append(find(op, pass, samples, options));
    };
    if (part == Part::backward) {
      std::for_each(layer.operators.rbegin(), layer.operators.rend(), append);
    } else {
      std::for_each(layer.operators.begin(), layer.operators.end(), append);
    }
    return layers.emplace(layer_key.text(), std::move(work)).first->second;
  }
};

CostModel::CostModel(const GpuProfile& gpu, const SoftwareProfile& software)
    : implementation_(std::make_unique<Implementation>()) {
  implementation_->gpu = gpu;
  implementation_->software = software;
}

CostModel::~CostModel() = default;
CostModel::CostModel(CostModel&&) noexcept = default;

const GpuProfile& CostModel::gpu() const { return implementation_->gpu; }
const SoftwareProfile& CostModel::software() const { return implementation_->software; }

Work CostModel::operator_work(const Operator& op, Pass pass, int micro_batch,
                              const CostOptions& options) const {
  return implementation_->find(op, pass, micro_batch, options);
}

Work CostModel::layer_work(const Layer& layer, Pass pass, int micro_batch, const CostOptions& options) const {
  using Part = Implementation::Part;
  return implementation_->find(layer, pass == Pass::forward ? Part::forward : Part::backward, micro_batch,
                               options);
}

Work CostModel::recompute_work(const Layer& layer, Recompute recompute, int micro_batch,
                               const CostOptions& options) const {
  using Part = Implementation::Part;
  if (layer.kind != LayerKind::block) return {};
  return implementation_->find(layer, Part::recompute, micro_batch, options, recompute);
}

Work CostModel::optimizer_work(double elements, int tensors, double bytes_per_element) const {
  const SoftwareProfile& software = implementation_->software;
  Work work;
  if (elements <= 0 || tensors <= 0) return work;
  const int groups = (tensors + software.tensors_per_launch - 1) / std::max(1, software.tensors_per_launch);
  const int launches = software.fused_optimizer ? groups : groups * software.foreach_operations;
  const double traffic = software.fused_optimizer ? 1.0 : software.foreach_traffic.value;
  const GpuProfile& gpu = implementation_->gpu;
  Kernel kernel = memory_kernel(gpu, software.fused_optimizer ? "fused optimizer" : "foreach optimizer",
                                Bytes(traffic * elements * bytes_per_element), launches);
  // Measured is one pass over p, g, m and v; a foreach optimizer runs other kernels.
  const auto measured = gpu.measured.kernel.find({"adamw", Pass::forward, Dtype::fp32});
  if (software.fused_optimizer && measured != gpu.measured.kernel.end())
    use_measured(gpu, measured->second, 1, 1, kernel);
  work.kernels.push_back(std::move(kernel));
  work.host_time = launches * software.host_per_kernel.value;
  return work;
}

Work CostModel::copy_work(const std::string& name, Bytes moved, int kernels) const {
  Work work;
  if (kernels <= 0 && moved <= Bytes(0)) return work;
  const int launches = std::max(1, kernels);
  work.kernels.push_back(copy_kernel(implementation_->gpu, name, moved, launches));
  work.host_time = launches * implementation_->software.host_per_kernel.value;
  return work;
}

}  // namespace stepcast
