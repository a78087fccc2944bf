#include "calibrate/host/host_device.hpp"

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <numbers>
#include <string>
#include <utility>

#include "base/diagnostic.hpp"
#include "base/hash.hpp"

namespace stepcast {
namespace {

void require_fp32(std::initializer_list<Tensor> tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.type != Dtype::fp32) {
      throw MachineError("the host backend computes in fp32 only", "set dtype = \"fp32\" in the scenario");
    }
  }
}

void require_count(std::int64_t expected, std::initializer_list<Tensor> tensors) {
  for (const Tensor& tensor : tensors) {
    STEPCAST_CHECK(tensor.count == expected, "a kernel was given " + std::to_string(tensor.count) +
                                                 " elements instead of " + std::to_string(expected));
  }
}

// A table of positions may be longer than the sequences.
void require_positions(Tensor position, std::int64_t length, std::int64_t columns) {
  if (!position.data) return;
  STEPCAST_CHECK(position.count >= length * columns, "sequences are longer than the table of positions");
}

const std::int32_t* as_ids(const void* ids) { return static_cast<const std::int32_t*>(ids); }

void require_ids(const void* ids, std::int64_t rows, std::int64_t classes) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int32_t id = as_ids(ids)[row];
    STEPCAST_CHECK(id >= 0 && id < classes,
                   "token " + std::to_string(id) + " of a vocabulary of " + std::to_string(classes));
  }
}

AttentionArguments arguments_of(const AttentionCall& call) {
  require_fp32({call.qkv, call.output, call.saved});
  const std::int64_t width = call.heads * call.head_dim;
  require_count(call.samples * call.length * 3 * width, {call.qkv});
  require_count(call.samples * call.length * width, {call.output});
  require_count(call.samples * call.heads * call.length * call.length, {call.saved});
  return {call.samples, call.length,       call.heads,         call.head_dim,
          call.causal,  call.qkv.floats(), call.saved.floats()};
}

}  // namespace

HostDevice::HostDevice(DeviceFacts facts, const HostKernels& kernels)
    : facts_(std::move(facts)),
      kernels_(kernels),
      memory_(static_cast<std::int64_t>(facts_.memory_capacity.value)) {}

void HostDevice::launched() {
  ++launches_;
  timeline_.worked();
}

void HostDevice::upload(Tensor to, const float* from) {
  require_fp32({to});
  std::memcpy(to.data, from, static_cast<std::size_t>(to.count) * sizeof(float));
  timeline_.worked();
}

void HostDevice::download(Tensor from, float* to) {
  require_fp32({from});
  std::memcpy(to, from.data, static_cast<std::size_t>(from.count) * sizeof(float));
  timeline_.worked();
}

void HostDevice::upload_ids(void* to, const std::int32_t* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(std::int32_t));
  timeline_.worked();
}

void HostDevice::fill_random(Tensor to, std::uint64_t seed, float deviation) {
  require_fp32({to});
  // Box and Muller's transform of two uniform numbers gives two normal ones.
  const auto uniform = [](std::uint64_t bits) { return static_cast<double>(bits >> 11U) * 0x1p-53; };
  std::uint64_t state = splitmix64(seed);
  for (std::int64_t i = 0; i < to.count; i += 2) {
    const double u = 1 - uniform(splitmix64(state)), v = uniform(splitmix64(state + golden_ratio));
    state += 2 * golden_ratio;
    const double radius = static_cast<double>(deviation) * std::sqrt(-2 * std::log(u));
    to.floats()[i] = static_cast<float>(radius * std::cos(2 * std::numbers::pi * v));
    if (i + 1 < to.count) {
      to.floats()[i + 1] = static_cast<float>(radius * std::sin(2 * std::numbers::pi * v));
    }
  }
  timeline_.worked();
}

void HostDevice::gemm(const GemmCall& call) {
  require_fp32({call.a, call.b, call.c});
  require_count(call.batch * call.rows * call.depth, {call.a});
  require_count(call.batch * call.depth * call.columns, {call.b});
  require_count(call.batch * call.rows * call.columns, {call.c});
  for (std::int64_t i = 0; i < call.batch; ++i) {
    kernels_.gemm(call.a.floats() + i * call.rows * call.depth, call.transpose_a,
                  call.b.floats() + i * call.depth * call.columns, call.transpose_b,
                  call.c.floats() + i * call.rows * call.columns, call.accumulate, call.rows, call.columns,
                  call.depth);
  }
  launched();
}

void HostDevice::bias_forward(Tensor y, Tensor bias, std::int64_t rows) {
  require_fp32({y, bias});
  require_count(rows * bias.count, {y});
  kernels_.bias_forward(y.floats(), bias.floats(), rows, bias.count);
  launched();
}

void HostDevice::bias_backward(Tensor dy, Tensor bias_gradient, std::int64_t rows) {
  require_fp32({dy, bias_gradient});
  require_count(rows * bias_gradient.count, {dy});
  kernels_.bias_backward(dy.floats(), bias_gradient.floats(), rows, bias_gradient.count);
  launched();
}

void HostDevice::norm_forward(Tensor x, Tensor weight, Tensor bias, Tensor y, Tensor statistics,
                              std::int64_t rows) {
  require_fp32({x, weight, bias, y, statistics});
  require_count(rows * weight.count, {x, y});
  require_count(weight.count, {bias});
  require_count(2 * rows, {statistics});
  kernels_.norm_forward(x.floats(), weight.floats(), bias.floats(), y.floats(), statistics.floats(), rows,
                        weight.count);
  launched();
}

void HostDevice::norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor dy, Tensor dx,
                               Tensor weight_gradient, Tensor bias_gradient, std::int64_t rows) {
  require_fp32({x, weight, statistics, dy, dx, weight_gradient, bias_gradient});
  require_count(rows * weight.count, {x, dy, dx});
  require_count(weight.count, {weight_gradient, bias_gradient});
  require_count(2 * rows, {statistics});
  kernels_.norm_backward(x.floats(), weight.floats(), statistics.floats(), dy.floats(), dx.floats(),
                         weight_gradient.floats(), bias_gradient.floats(), rows, weight.count);
  launched();
}

void HostDevice::activation_forward(PointWise kind, Tensor x, Tensor y) {
  require_fp32({x, y});
  require_count(x.count, {y});
  const auto kernel = kind == PointWise::gelu ? kernels_.gelu_forward : kernels_.relu_forward;
  kernel(x.floats(), y.floats(), x.count);
  launched();
}

void HostDevice::activation_backward(PointWise kind, Tensor x, Tensor dy, Tensor dx) {
  require_fp32({x, dy, dx});
  require_count(x.count, {dy, dx});
  const auto kernel = kind == PointWise::gelu ? kernels_.gelu_backward : kernels_.relu_backward;
  kernel(x.floats(), dy.floats(), dx.floats(), x.count);
  launched();
}

void HostDevice::add(Tensor a, Tensor b, Tensor sum) {
  require_fp32({a, b, sum});
  require_count(sum.count, {a, b});
  kernels_.add(a.floats(), b.floats(), sum.floats(), sum.count);
  launched();
}

std::int64_t HostDevice::attention_saved(const AttentionCall& call) const {
  return call.samples * call.heads * call.length * call.length;
}

void HostDevice::attention_forward(const AttentionCall& call) {
  kernels_.attention_forward(arguments_of(call), call.output.floats());
  launched();
}

void HostDevice::attention_backward(const AttentionCall& call, Tensor output_gradient, Tensor qkv_gradient) {
  const AttentionArguments arguments = arguments_of(call);
  require_fp32({output_gradient, qkv_gradient});
  require_count(call.output.count, {output_gradient});
  require_count(call.qkv.count, {qkv_gradient});
  if (const auto needed = static_cast<std::size_t>(call.length * call.length); scores_.size() < needed) {
    scores_.resize(needed);
  }
  kernels_.attention_backward(arguments, output_gradient.floats(), qkv_gradient.floats(), scores_.data());
  launched();
}

void HostDevice::embedding_forward(const void* ids, Tensor token, Tensor position, Tensor y,
                                   std::int64_t rows, std::int64_t length) {
  require_fp32({token, position, y});
  const std::int64_t columns = y.count / rows;
  require_count(rows * columns, {y});
  require_positions(position, length, columns);
  require_ids(ids, rows, token.count / columns);
  kernels_.embedding_forward(as_ids(ids), token.floats(), position.floats(), y.floats(), rows, length,
                             columns);
  launched();
}

void HostDevice::embedding_backward(const void* ids, Tensor dy, Tensor token_gradient,
                                    Tensor position_gradient, std::int64_t rows, std::int64_t length) {
  require_fp32({dy, token_gradient, position_gradient});
  const std::int64_t columns = dy.count / rows;
  require_count(rows * columns, {dy});
  require_positions(position_gradient, length, columns);
  require_ids(ids, rows, token_gradient.count / columns);
  kernels_.embedding_backward(as_ids(ids), dy.floats(), token_gradient.floats(), position_gradient.floats(),
                              rows, length, columns);
  launched();
}

void HostDevice::cross_entropy(Tensor logits, const void* targets, Tensor loss, std::int64_t rows,
                               float scale) {
  require_fp32({logits, loss});
  const std::int64_t classes = logits.count / rows;
  require_count(rows * classes, {logits});
  require_ids(targets, rows, classes);
  const double factor = static_cast<double>(scale) / static_cast<double>(rows);
  const double total =
      kernels_.cross_entropy(logits.floats(), as_ids(targets), rows, classes, static_cast<float>(factor));
  loss.floats()[0] += static_cast<float>(total * factor);
  launched();
}

void HostDevice::adamw(Tensor parameters, Tensor gradients, Tensor first, Tensor second,
                       const AdamW& settings) {
  require_fp32({parameters, gradients, first, second});
  require_count(parameters.count, {gradients, first, second});
  const double correction1 = 1 - std::pow(settings.beta1, settings.step);
  const double correction2 = 1 - std::pow(settings.beta2, settings.step);
  AdamWArguments arguments{};
  arguments.keep = static_cast<float>(1 - settings.learning_rate * settings.weight_decay);
  arguments.step_size = static_cast<float>(settings.learning_rate / correction1);
  arguments.beta1 = static_cast<float>(settings.beta1);
  arguments.beta2 = static_cast<float>(settings.beta2);
  arguments.root_correction = static_cast<float>(1 / std::sqrt(correction2));
  arguments.epsilon = static_cast<float>(settings.epsilon);
  kernels_.adamw(parameters.floats(), gradients.floats(), first.floats(), second.floats(), parameters.count,
                 arguments);
  launched();
}

void HostDevice::copy(Tensor from, Tensor to, float scale) {
  require_fp32({from, to});
  require_count(from.count, {to});
  if (scale == 1) {
    std::memmove(to.data, from.data, static_cast<std::size_t>(from.count) * sizeof(float));
  } else {
    kernels_.scale(from.floats(), to.floats(), scale, from.count);
  }
  launched();
}

void HostDevice::zero(Tensor what) {
  std::memset(what.data, 0, static_cast<std::size_t>(what.size().value));
  launched();
}

void HostDevice::pause(Seconds time) {
  ++launches_;
  timeline_.pause(time);
}

Sample HostDevice::timed(const std::function<void()>& body) {
  timeline_.worked();
  launches_ = 0;
  const Seconds cpu = thread_cpu_time(), start = monotonic_now();
  body();
  const Seconds time = monotonic_now() - start;
  return {time, time, thread_cpu_time() - cpu, launches_};
}

}  // namespace stepcast
