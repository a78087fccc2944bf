#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/host/host_device.hpp"
#include "calibrate/host/kernels/table.hpp"
#include "reference.hpp"

namespace stepcast {
namespace {

using reference::Values;

// All kernels, for each instruction set that this machine has: forward against loops in double precision,
// backward against central differences of those loops.
class Kernels : public testing::TestWithParam<const HostKernels*> {
 protected:
  Kernels() {
    DeviceFacts facts;
    facts.memory_capacity = mebibytes(64);
    device_ = std::make_unique<HostDevice>(facts, *GetParam());
  }

  // The memory lives until the test ends.
  Tensor tensor(std::int64_t count) {
    blocks_.push_back(device_->allocate(count * 4));
    return {blocks_.back().get(), count, Dtype::fp32};
  }
  Tensor tensor(const Values& values) {
    const Tensor made = tensor(static_cast<std::int64_t>(values.size()));
    const std::vector<float> floats(values.begin(), values.end());
    device_->upload(made, floats.data());
    return made;
  }
  const void* ids(const std::vector<std::int32_t>& values) {
    const Tensor made = tensor(static_cast<std::int64_t>(values.size()));
    device_->upload_ids(made.data, values.data(), made.count);
    return made.data;
  }

  // fp32 carries 24 bits; sums of up to a few hundred terms lose some of them.
  void expect_near(Tensor got, const Values& expected, double tolerance = 2e-5) {
    ASSERT_EQ(got.count, static_cast<std::int64_t>(expected.size()));
    std::vector<float> floats(expected.size());
    device_->download(got, floats.data());
    double largest = 1;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(floats[i]), expected[i], tolerance * largest) << "element " << i;
    }
  }

  std::unique_ptr<HostDevice> device_;
  std::vector<std::shared_ptr<void>> blocks_;
};

TEST_P(Kernels, GemmTransposesBatchesAndAccumulates) {
  struct Shape {
    std::int64_t rows, columns, depth;
  };
  for (const Shape s : {Shape{1, 1, 1}, Shape{1, 37, 19}, Shape{41, 1, 23}, Shape{3, 5, 7}, Shape{16, 48, 64},
                        Shape{65, 33, 129}, Shape{100, 130, 1}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.columns) + " x " +
                     std::to_string(s.depth) + (transpose_a ? " At" : " A") + (transpose_b ? " Bt" : " B"));
        Values a = reference::random(s.rows * s.depth, 1), b = reference::random(s.depth * s.columns, 2);
        Values expected = reference::gemm(a, transpose_a, b, transpose_b, s.rows, s.columns, s.depth);
        const Values c = reference::random(s.rows * s.columns, 3);
        GemmCall call{tensor(a), tensor(b), tensor(c),   s.rows,      s.columns,
                      s.depth,   1,         transpose_a, transpose_b, false};
        device_->gemm(call);
        expect_near(call.c, expected);
        call.c = tensor(c);
        call.accumulate = true;
        device_->gemm(call);
        Values sum = c;
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += expected[i];
        expect_near(call.c, sum);
      }
    }
  }
  const Values a = reference::random(2 * 3 * 5, 4), b = reference::random(2 * 5 * 4, 5);
  const GemmCall batch{tensor(a), tensor(b), tensor(2 * 3 * 4), 3, 4, 5, 2, false, false, false};
  device_->gemm(batch);
  Values expected;
  for (const int i : {0, 1}) {
    const Values one = reference::gemm({a.begin() + i * 15, a.begin() + i * 15 + 15}, false,
                                       {b.begin() + i * 20, b.begin() + i * 20 + 20}, false, 3, 4, 5);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  expect_near(batch.c, expected);
}

TEST_P(Kernels, BiasIsAddedToEachRowAndItsGradientIsTheColumnsSum) {
  const std::int64_t rows = 7, columns = 37;
  const Values y = reference::random(rows * columns, 1), bias = reference::random(columns, 2);
  const Values old = reference::random(columns, 3);
  const Tensor sum = tensor(y), gradient = tensor(old);
  device_->bias_forward(sum, tensor(bias), rows);
  device_->bias_backward(tensor(y), gradient, rows);
  Values expected = y, sums = old;
  for (std::size_t i = 0; i < y.size(); ++i) {
    expected[i] += bias[i % columns];
    sums[i % columns] += y[i];
  }
  expect_near(sum, expected);
  expect_near(gradient, sums);
}

TEST_P(Kernels, ActivationsAndTheirGradients) {
  for (const std::int64_t count : {1, 17, 1500}) {
    Values x = reference::random(count, 1);
    for (double& v : x) v *= 3;  // also where gelu is flat
    const Values dy = reference::random(count, 2);
    for (const PointWise kind : {PointWise::gelu, PointWise::relu}) {
      const auto forward = kind == PointWise::gelu ? reference::gelu : reference::relu;
      const Tensor y = tensor(count), dx = tensor(count);
      device_->activation_forward(kind, tensor(x), y);
      device_->activation_backward(kind, tensor(x), tensor(dy), dx);
      expect_near(y, forward(x));
      // An element's output depends on this element alone: one difference for all.
      Values expected;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const Values slope =
            reference::gradient([&](const Values& at) { return dy[i] * forward(at).front(); }, {x[i]});
        expected.push_back(slope.front());
      }
      expect_near(dx, expected);
    }
  }
}

TEST_P(Kernels, LayerNormAndItsGradients) {
  for (const std::int64_t columns : {5, 33, 64}) {
    const std::int64_t rows = 3;
    Values x = reference::random(rows * columns, 1);
    for (double& v : x) v = 2 * v + 5;
    const Values weight = reference::random(columns, 2), bias = reference::random(columns, 3);
    const Values dy = reference::random(rows * columns, 4), old = reference::random(columns, 5);
    const Tensor y = tensor(rows * columns), statistics = tensor(2 * rows), dx = tensor(rows * columns);
    const Tensor weight_gradient = tensor(old), bias_gradient = tensor(old);
    device_->norm_forward(tensor(x), tensor(weight), tensor(bias), y, statistics, rows);
    device_->norm_backward(tensor(x), tensor(weight), statistics, tensor(dy), dx, weight_gradient,
                           bias_gradient, rows);
    expect_near(y, reference::norm(x, weight, bias));
    expect_near(
        dx, reference::gradient(
                [&](const Values& at) { return reference::dot(dy, reference::norm(at, weight, bias)); }, x));
    Values of_weight = reference::gradient(
        [&](const Values& at) { return reference::dot(dy, reference::norm(x, at, bias)); }, weight);
    Values of_bias = reference::gradient(
        [&](const Values& at) { return reference::dot(dy, reference::norm(x, weight, at)); }, bias);
    for (std::size_t i = 0; i < old.size(); ++i) {
      of_weight[i] += old[i];
      of_bias[i] += old[i];
    }
    expect_near(weight_gradient, of_weight);
    expect_near(bias_gradient, of_bias);
  }
}

TEST_P(Kernels, AttentionAndItsGradient) {
  struct Shape {
    std::int64_t samples, length, heads, head_dim;
  };
  for (const Shape s : {Shape{1, 1, 1, 1}, Shape{2, 5, 3, 4}, Shape{1, 17, 2, 8}, Shape{1, 12, 1, 33}}) {
    for (const bool causal : {true, false}) {
      const std::int64_t width = s.heads * s.head_dim;
      const Values qkv = reference::random(s.samples * s.length * 3 * width, 1);
      const Values gradient = reference::random(s.samples * s.length * width, 2);
      AttentionCall call{
          tensor(qkv), tensor(s.samples * s.length * width), {}, s.samples, s.length, s.heads, s.head_dim,
          causal};
      call.saved = tensor(device_->attention_saved(call));
      device_->attention_forward(call);
      const auto forward = [&](const Values& at) {
        return reference::attention(at, s.samples, s.length, s.heads, s.head_dim, causal);
      };
      expect_near(call.output, forward(qkv));
      const Tensor qkv_gradient = tensor(call.qkv.count);
      device_->attention_backward(call, tensor(gradient), qkv_gradient);
      expect_near(
          qkv_gradient,
          reference::gradient([&](const Values& at) { return reference::dot(gradient, forward(at)); }, qkv));
    }
  }
}

TEST_P(Kernels, EmbeddingLooksUpAndItsGradientAddsUp) {
  // Two sequences of 3; token 4 occurs three times. The table of positions is longer than the sequences.
  const std::vector<std::int32_t> tokens{4, 0, 4, 1, 4, 2};
  const std::int64_t columns = 19, vocabulary = 5, length = 3, rows = 6;
  const Values token = reference::random(vocabulary * columns, 1);
  const Values position = reference::random(4 * columns, 2), dy = reference::random(rows * columns, 3);
  const Tensor y = tensor(rows * columns), plain = tensor(rows * columns);
  device_->embedding_forward(ids(tokens), tensor(token), tensor(position), y, rows, length);
  device_->embedding_forward(ids(tokens), tensor(token), {}, plain, rows, length);
  const Tensor token_gradient = tensor(token), position_gradient = tensor(position);
  device_->embedding_backward(ids(tokens), tensor(dy), token_gradient, position_gradient, rows, length);
  Values expected(dy.size()), expected_plain(dy.size()), of_token = token, of_position = position;
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const std::size_t row = i / columns, column = i % columns;
    const std::size_t word = static_cast<std::size_t>(tokens[row]) * columns + column;
    const std::size_t place = row % 3 * columns + column;
    expected_plain[i] = token[word];
    expected[i] = token[word] + position[place];
    of_token[word] += dy[i];
    of_position[place] += dy[i];
  }
  expect_near(y, expected);
  expect_near(plain, expected_plain);
  expect_near(token_gradient, of_token);
  expect_near(position_gradient, of_position);
}

TEST_P(Kernels, CrossEntropyAddsTheScaledMeanAndLeavesTheGradient) {
  for (const std::int64_t classes : {2, 11, 67}) {
    const std::vector<std::int32_t> targets{0, 1, static_cast<std::int32_t>(classes - 1), 0, 1};
    Values logits = reference::random(5 * classes, 1);
    for (double& v : logits) v *= 5;
    const Tensor gradient = tensor(logits), loss = tensor(Values{10});
    device_->cross_entropy(gradient, ids(targets), loss, 5, 0.25F);
    const double expected = reference::cross_entropy(logits, targets);
    expect_near(loss, {10 + 0.25 * expected});
    expect_near(gradient,
                reference::gradient(
                    [&](const Values& at) { return 0.25 * reference::cross_entropy(at, targets); }, logits));
  }
}

TEST_P(Kernels, CrossEntropyOfLargeLogitsStaysFinite) {
  const Tensor logits = tensor(Values{1000, 0}), loss = tensor(1);
  device_->cross_entropy(logits, ids({1}), loss, 1, 1);
  expect_near(loss, {1000});
  expect_near(logits, {1, -1});
}

// torch.optim.AdamW, written out: m and v are 0 before step 1, so that their bias-corrected means are g and
// g^2, and the step is -learning rate x sign(g) but for epsilon.
TEST_P(Kernels, AdamWIsThatOfTorch) {
  const std::int64_t count = 100;
  const Values start = reference::random(count, 1);
  const Tensor parameters = tensor(start), first = tensor(count), second = tensor(count);
  AdamW settings{0.01, 0.9, 0.95, 1e-8, 0.1, 1};
  Values p = start, m(start.size()), v(start.size());
  for (settings.step = 1; settings.step <= 3; ++settings.step) {
    const Values g = reference::random(count, 10 + static_cast<std::uint64_t>(settings.step));
    device_->adamw(parameters, tensor(g), first, second, settings);
    for (std::size_t i = 0; i < p.size(); ++i) {
      p[i] *= 1 - settings.learning_rate * settings.weight_decay;
      m[i] = settings.beta1 * m[i] + (1 - settings.beta1) * g[i];
      v[i] = settings.beta2 * v[i] + (1 - settings.beta2) * g[i] * g[i];
      const double mean = m[i] / (1 - std::pow(settings.beta1, settings.step));
      const double square = v[i] / (1 - std::pow(settings.beta2, settings.step));
      p[i] -= settings.learning_rate * mean / (std::sqrt(square) + settings.epsilon);
    }
    expect_near(parameters, p, 1e-6);
    expect_near(first, m, 1e-6);
    expect_near(second, v, 1e-6);
  }
}

TEST_P(Kernels, AddCopyAndZero) {
  const Values a = reference::random(37, 1), b = reference::random(37, 2);
  const Tensor x = tensor(a), y = tensor(b), z = tensor(37);
  device_->add(x, y, y);  // sum may be an operand
  Values sum = a, halves = a;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  for (double& value : halves) value /= 2;
  expect_near(y, sum, 1e-7);
  device_->copy(x, z, 0.5F);
  expect_near(z, halves, 1e-7);
  device_->copy(x, z, 1);
  expect_near(z, a, 0);
  device_->zero(z.part(1, 35));
  EXPECT_EQ(z.floats()[0], x.floats()[0]);
  EXPECT_EQ(z.floats()[1], 0.0F);
  EXPECT_EQ(z.floats()[35], 0.0F);
  EXPECT_EQ(z.floats()[36], x.floats()[36]);
}

std::string set_name(const testing::TestParamInfo<const HostKernels*>& info) {
  std::string name;
  for (const char c : std::string(info.param->instruction_set)) {
    if (std::isalnum(static_cast<unsigned char>(c))) name += c;
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(OfInstructionSet, Kernels, testing::ValuesIn(host_kernels()), set_name);

}  // namespace
}  // namespace stepcast
