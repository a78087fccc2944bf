#include "calibrate/measure/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "models/counting.hpp"
#include "sim/cost/kernels.hpp"
#include "sim/cost/products.hpp"

namespace stepcast {
namespace {

/// Read and written by AdamW: parameter, gradient and two moments in, all but the gradient out.
constexpr double adamw_bytes_per_element = 7 * element_size(Dtype::fp32);

CostModel shipped_costs(const DeviceFacts& device) {
  const std::vector<std::string> known = gpu_profile_names();
  const bool host = device.compute_capability <= 0;
  const bool found = std::find(known.begin(), known.end(), device.profile_name) != known.end();
  const std::string gpu = found ? device.profile_name : host ? "cpu-host" : "a100-sxm-80g";
  const Profile profile = load_profile(gpu, host ? "cpu-host" : "default", "stepcast-trainer", {}, {});
  return CostModel(profile.gpu, profile.software);
}

Operator memory_operator(const std::string& name, const counting::Counted& counted) {
  Operator op;
  op.name = name;
  op.memory = counted.work;
  return op;
}

/// The operators that one of the device's kernels stands for.
std::vector<Operator> operators_of(const Measurement& what) {
  const auto n = static_cast<double>(what.elements);
  const double rows = n / static_cast<double>(std::max<std::int64_t>(1, what.columns));
  const TransformerArchitecture gpt2_like;
  if (what.operation == "norm")
    return {memory_operator("measured.norm", counting::norm(gpt2_like, n, rows, 1, false))};
  if (what.operation == "bias") return {memory_operator("measured.bias", counting::bias(n))};
  if (what.operation == "activation")
    return {memory_operator("measured.activation", counting::activation(Activation::gelu, n))};
  if (what.operation == "residual")
    return {memory_operator("measured.residual", counting::residual(n, false))};
  if (what.operation == "embedding") {
    const auto table = static_cast<double>(what.rows * what.columns);
    return {memory_operator("embedding.tokens", counting::embedding(n, rows, table)),
            memory_operator("embedding.positions", counting::added_embedding(n))};
  }
  STEPCAST_CHECK(what.operation == "cross_entropy", "an operator that is not counted: " + what.operation);
  return {memory_operator("loss.cross_entropy", counting::cross_entropy(n, rows))};
}

Bytes moved_by(const Work& work) {
  Bytes sum;
  for (const Kernel& kernel : work.kernels) sum += kernel.count * kernel.memory;
  return sum;
}

Seconds time_of(const Work& work) {
  Seconds sum;
  for (const Kernel& kernel : work.kernels) sum += kernel.count * kernel.time;
  return sum;
}

Operator attention_operator(const Measurement& what) {
  Operator op;
  op.name = "measured.core";
  op.kind = OperatorKind::attention;
  op.attention.query_heads = op.attention.key_value_heads = what.heads;
  op.attention.head_dim = op.attention.value_dim = what.head_dim;
  op.attention.query_length = op.attention.key_length = what.length;
  op.attention.causal = true;
  return op;
}

Seconds product_time(const GpuProfile& gpu, const Measurement& what) {
  const auto rows = static_cast<double>(what.rows), columns = static_cast<double>(what.columns),
             depth = static_cast<double>(what.depth);
  const Dtype type = effective_dtype(gpu, what.dtype);
  const FlopPerSecond rate = gemm_rate(gpu, type, is_aligned(what.columns, what.depth, type));
  const Bytes moved(activation_size(what.dtype) * (rows * depth + depth * columns + rows * columns));
  return gemm_kernel(gpu, "gemm", gemm_units(gpu, type), rate, {rows, what.columns, what.depth, 1}, moved,
                     Flop(2 * rows * columns * depth))
      .time;
}

CostOptions cost_options(Dtype type) {
  CostOptions options;
  options.compute = options.parameters = type;
  options.gradients = Dtype::fp32;
  options.accumulate = true;
  return options;
}

}  // namespace

Estimates::Estimates(const DeviceFacts& device, const LinkGuess& between_nodes)
    : cost_(shipped_costs(device)), between_nodes_(between_nodes) {}

Bytes Estimates::moved_bytes(const Measurement& kernel) const {
  const auto n = static_cast<double>(kernel.elements);
  if (kernel.operation == "copy") return Bytes(2 * element_size(kernel.dtype) * n);
  if (kernel.operation == "adamw") return moved_by(cost_.optimizer_work(n, 1, adamw_bytes_per_element));
  std::vector<Pass> passes{kernel.pass};
  if (kernel.operation == "cross_entropy") passes = {Pass::forward, Pass::backward};
  Bytes sum;
  for (const Operator& op : operators_of(kernel)) {
    for (const Pass pass : passes)
      sum += moved_by(cost_.operator_work(op, pass, 1, cost_options(kernel.dtype)));
  }
  return sum;
}

Seconds Estimates::one_call(const Measurement& what) const {
  const GpuProfile& gpu = cost_.gpu();
  switch (what.kind) {
    case Measurement::Kind::gemm:
    case Measurement::Kind::sustained:
      return product_time(gpu, what);
    case Measurement::Kind::attention:
      return time_of(cost_.operator_work(attention_operator(what), what.pass, static_cast<int>(what.samples),
                                         cost_options(what.dtype)));
    case Measurement::Kind::kernel:
      return what.moved / gpu.memory_rate.value + gpu.memory_latency.value;
    case Measurement::Kind::launch:
      return cost_.software().host_per_kernel.value;
    case Measurement::Kind::host_copy:
      return what.bytes / gpu.host_link_rate.value + gpu.memory_latency.value;
    case Measurement::Kind::collective: {
      const bool leaves_node = what.nodes > 1 && between_nodes_.rate.value > 0;
      const BytesPerSecond rate = leaves_node ? between_nodes_.rate : gpu.host_link_rate.value;
      const double rounds = std::max(1.0, std::log2(static_cast<double>(what.ranks.size())));
      const Seconds start = cost_.software().host_per_collective.value +
                            (leaves_node ? between_nodes_.latency : gpu.memory_latency.value);
      return rounds * start +
             sent_share(what.collective, static_cast<int>(what.ranks.size())) * what.bytes / rate;
    }
    case Measurement::Kind::overlap: {
      // The gemm alone, then beside calls that last at least as long.
      Measurement call = what;
      call.kind = Measurement::Kind::collective;
      return 2 * product_time(gpu, what) + one_call(call);
    }
  }
  return {};
}

double sent_share(Operation operation, int ranks) {
  const double n = ranks;
  switch (operation) {
    case Operation::all_reduce:
      return 2 * (n - 1) / n;
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
      return (n - 1) / n;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::send_recv:
      return 1;
  }
  return 1;
}

}  // namespace stepcast
