// The host backend's kernels on one core: FLOP/s of matrix products, elements/s of the others, at sizes that
// small models have. `stepcast_host_bench --benchmark_repetitions=9` shows how much they vary.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>

#include "calibrate/backend.hpp"
#include "calibrate/host/host_device.hpp"
#include "calibrate/host/machine.hpp"

namespace stepcast {
namespace {

// Of the best instruction set, on a core of its own.
HostDevice& device() {
  static const OwnCore core{{}};
  static DeviceFacts facts = [] {
    DeviceFacts made;
    made.memory_capacity = gibibytes(2);
    return made;
  }();
  static HostDevice opened(facts, *host_kernels().front());
  return opened;
}

struct Block {
  explicit Block(std::int64_t count)
      : memory(device().allocate(count * 4)), tensor{memory.get(), count, Dtype::fp32} {
    device().fill_random(tensor, 1, 1);
  }
  std::shared_ptr<void> memory;
  Tensor tensor;
};

void gemm(benchmark::State& state) {
  const std::int64_t rows = state.range(0), columns = state.range(1), depth = state.range(2);
  const Block a(rows * depth), b(depth * columns), c(rows * columns);
  const GemmCall call{a.tensor, b.tensor, c.tensor, rows, columns, depth, 1, false, true, false};
  for (auto _ : state) device().gemm(call);
  state.counters["FLOP/s"] = benchmark::Counter(2.0 * static_cast<double>(rows * columns * depth),
                                                benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(gemm)
    ->Args({64, 64, 64})
    ->Args({128, 128, 128})
    ->Args({256, 256, 256})
    ->Args({512, 512, 512})
    ->Args({1024, 1024, 1024})
    ->Args({16, 1024, 1024})
    ->Args({256, 1024, 64})
    ->Args({1024, 64, 1024});

constexpr std::int64_t columns = 512;

void norm_forward(benchmark::State& state) {
  const Block x(state.range(0)), y(state.range(0)), weight(columns), bias(columns);
  const Block statistics(2 * state.range(0) / columns);
  for (auto _ : state) {
    device().norm_forward(x.tensor, weight.tensor, bias.tensor, y.tensor, statistics.tensor,
                          state.range(0) / columns);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void norm_backward(benchmark::State& state) {
  const Block x(state.range(0)), dy(state.range(0)), dx(state.range(0)), weight(columns);
  const Block statistics(2 * state.range(0) / columns), of_weight(columns), of_bias(columns);
  for (auto _ : state) {
    device().norm_backward(x.tensor, weight.tensor, statistics.tensor, dy.tensor, dx.tensor, of_weight.tensor,
                           of_bias.tensor, state.range(0) / columns);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void gelu_forward(benchmark::State& state) {
  const Block x(state.range(0)), y(state.range(0));
  for (auto _ : state) device().activation_forward(PointWise::gelu, x.tensor, y.tensor);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void gelu_backward(benchmark::State& state) {
  const Block x(state.range(0)), dy(state.range(0)), dx(state.range(0));
  for (auto _ : state) device().activation_backward(PointWise::gelu, x.tensor, dy.tensor, dx.tensor);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void cross_entropy(benchmark::State& state) {
  const std::int64_t classes = 4096;
  const Block logits(state.range(0)), targets(state.range(0) / classes), loss(1);
  device().zero(targets.tensor);
  for (auto _ : state) {
    device().cross_entropy(logits.tensor, targets.tensor.data, loss.tensor, state.range(0) / classes, 1);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void adamw(benchmark::State& state) {
  const Block parameters(state.range(0)), gradients(state.range(0)), first(state.range(0));
  const Block second(state.range(0));
  device().zero(second.tensor);
  AdamW settings;
  for (auto _ : state) {
    device().adamw(parameters.tensor, gradients.tensor, first.tensor, second.tensor, settings);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void copy(benchmark::State& state) {
  const Block from(state.range(0)), to(state.range(0));
  for (auto _ : state) device().copy(from.tensor, to.tensor, 1);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// In the second-level cache, and beyond it.
BENCHMARK(norm_forward)->Arg(1 << 16)->Arg(1 << 22);
BENCHMARK(norm_backward)->Arg(1 << 16)->Arg(1 << 22);
BENCHMARK(gelu_forward)->Arg(1 << 16)->Arg(1 << 22);
BENCHMARK(gelu_backward)->Arg(1 << 16)->Arg(1 << 22);
BENCHMARK(cross_entropy)->Arg(1 << 16)->Arg(1 << 22);
BENCHMARK(adamw)->Arg(1 << 16)->Arg(1 << 22);
BENCHMARK(copy)->Arg(1 << 16)->Arg(1 << 22);

void attention(benchmark::State& state) {
  const std::int64_t length = state.range(0), heads = 8, head_dim = 64;
  const Block qkv(length * 3 * heads * head_dim), output(length * heads * head_dim);
  const Block saved(heads * length * length), gradient(output.tensor.count), of_qkv(qkv.tensor.count);
  const AttentionCall call{qkv.tensor, output.tensor, saved.tensor, 1, length, heads, head_dim, true};
  for (auto _ : state) {
    device().attention_forward(call);
    device().attention_backward(call, gradient.tensor, of_qkv.tensor);
  }
  // Two products forward, four backward.
  state.counters["FLOP/s"] =
      benchmark::Counter(12.0 * static_cast<double>(heads * length * length * head_dim),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(attention)->Arg(64)->Arg(128)->Arg(256);

}  // namespace
}  // namespace stepcast
