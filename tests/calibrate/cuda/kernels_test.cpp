// What a device computes is what the host's kernels compute from the same, already rounded inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "calibrate/host/host_device.hpp"
#include "device_under_test.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
// For ctest's list of tests.
void PrintTo(Dtype type, std::ostream* out) { *out << name_of(type); }

namespace {

HostDevice& host() {
  static HostDevice device(
      [] {
        DeviceFacts facts;
        facts.memory_capacity = gibibytes(1);
        return facts;
      }(),
      *host_kernels().back());
  return device;
}

/// The same values on the device that is tested, in its type, and on the host, in fp32.
struct Twin {
  std::shared_ptr<void> of_device, of_host;
  Tensor device, host;
};

std::vector<float> download(ComputeDevice& from, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.count));
  from.download(tensor, values.data());
  return values;
}

class Kernels : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override {
    if (device_under_test() == nullptr) GTEST_SKIP() << "no GPU: these kernels were not run";
    const auto& types = device_under_test()->facts().dtypes;
    if (std::find(types.begin(), types.end(), type()) == types.end())
      GTEST_SKIP() << "the GPU lacks this type";
  }

  static Dtype type() { return GetParam(); }
  static ComputeDevice& device() { return *device_under_test(); }

  Twin zeros(std::int64_t count, Dtype of) {
    Twin twin;
    twin.of_device = device().allocate(count * static_cast<std::int64_t>(element_size(of)));
    twin.of_host = host().allocate(count * 4);
    twin.device = {twin.of_device.get(), count, of};
    twin.host = {twin.of_host.get(), count, Dtype::fp32};
    return twin;
  }
  Twin zeros(std::int64_t count) { return zeros(count, type()); }
  Twin random(std::int64_t count, Dtype of, float deviation = 1) {
    Twin twin = zeros(count, of);
    host().fill_random(twin.host, ++seed_, deviation);
    device().upload(twin.device, twin.host.floats());
    device().download(twin.device, twin.host.floats());  // rounded
    return twin;
  }
  Twin random(std::int64_t count, float deviation = 1) { return random(count, type(), deviation); }

  struct Ids {
    std::vector<std::int32_t> values;
    std::shared_ptr<void> of_device;
  };
  Ids ids(std::int64_t count, std::int32_t classes) {
    Ids made;
    for (std::int64_t i = 0; i < count; ++i)
      made.values.push_back(static_cast<std::int32_t>(i * 7 + 3) % classes);
    made.of_device = device().allocate(count * 4);
    device().upload_ids(made.of_device.get(), made.values.data(), count);
    return made;
  }

  /// Results are rounded to the type: to 8 bits in bf16, 11 in fp16; in fp32 only sums' order differs. A
  /// value that cancels keeps the error of what it came from, hence the floor of `scale`.
  static void expect_same(const Twin& twin, const char* what, float scale = 1) {
    const float rounding = twin.device.type == Dtype::bf16   ? 0x1p-7F
                           : twin.device.type == Dtype::fp16 ? 0x1p-10F
                                                             : 0x1p-17F;
    // An fp32 sum over rounded factors is as exact as they are.
    const float tolerance = 2 * rounding;
    const auto got = download(device(), twin.device);
    const auto wanted = download(host(), twin.host);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], wanted[i], tolerance * std::max(scale, std::abs(wanted[i])))
          << what << ", element " << i;
    }
  }

 private:
  std::uint64_t seed_{};
};

constexpr std::int64_t rows = 6;
// Of whole vectors, of one warp and several; and odd.
constexpr std::int64_t widths[] = {64, 608, 37, 301};

TEST_P(Kernels, CopiesConvertAndScaleAlsoFromOddPlaces) {
  const Twin from = random(1003);
  const Twin to = zeros(1003, Dtype::fp32);
  device().copy(from.device, to.device, 0.5F);
  host().copy(from.host, to.host, 0.5F);
  expect_same(to, "scaled");
  // From the second element on nothing is aligned.
  const Twin shifted = zeros(1002);
  device().copy(from.device.part(1, 1002), shifted.device, 1);
  host().copy(from.host.part(1, 1002), shifted.host, 1);
  expect_same(shifted, "shifted");
}

TEST_P(Kernels, RandomDataIsNormalAndTheSameForTheSameSeed) {
  const Twin first = zeros(20001), again = zeros(20001), other = zeros(20001);
  device().fill_random(first.device, 5, 0.25F);
  device().fill_random(again.device, 5, 0.25F);
  device().fill_random(other.device, 6, 0.25F);
  const auto values = download(device(), first.device);
  EXPECT_EQ(values, download(device(), again.device));
  EXPECT_NE(values, download(device(), other.device));
  double sum = 0, squares = 0, inside = 0;
  for (const float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
    inside += std::abs(value) < 0.25F ? 1 : 0;
  }
  // Standard errors are deviation / sqrt(n) = 0.0018 and, of the deviation, / sqrt(2n) = 0.0013; 68.3 % lie
  // within one.
  const double n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 0.008);
  EXPECT_NEAR(std::sqrt(squares / n), 0.25, 0.006);
  EXPECT_NEAR(inside / n, 0.683, 0.015);
}

TEST_P(Kernels, BiasAndItsGradient) {
  for (const std::int64_t columns : widths) {
    const Twin y = random(rows * columns), bias = random(columns), gradient = random(columns, Dtype::fp32);
    device().bias_backward(y.device, gradient.device, rows);
    host().bias_backward(y.host, gradient.host, rows);
    expect_same(gradient, "gradient");
    device().bias_forward(y.device, bias.device, rows);
    host().bias_forward(y.host, bias.host, rows);
    expect_same(y, "sum");
  }
}

TEST_P(Kernels, LayerNormAndItsGradients) {
  for (const std::int64_t columns : widths) {
    const Twin x = random(rows * columns, 3), weight = random(columns), bias = random(columns);
    const Twin y = zeros(rows * columns), statistics = zeros(2 * rows, Dtype::fp32);
    device().norm_forward(x.device, weight.device, bias.device, y.device, statistics.device, rows);
    host().norm_forward(x.host, weight.host, bias.host, y.host, statistics.host, rows);
    expect_same(y, "norm");
    expect_same(statistics, "statistics");
    const Twin dy = random(rows * columns), dx = zeros(rows * columns);
    const Twin weight_gradient = random(columns, Dtype::fp32), bias_gradient = random(columns, Dtype::fp32);
    device().norm_backward(x.device, weight.device, statistics.device, dy.device, dx.device,
                           weight_gradient.device, bias_gradient.device, rows);
    host().norm_backward(x.host, weight.host, statistics.host, dy.host, dx.host, weight_gradient.host,
                         bias_gradient.host, rows);
    expect_same(dx, "gradient of x");
    expect_same(weight_gradient, "gradient of the weight", 10);
    expect_same(bias_gradient, "gradient of the bias", 10);
  }
}

TEST_P(Kernels, ActivationsAndTheirGradients) {
  for (const PointWise kind : {PointWise::gelu, PointWise::relu}) {
    const Twin x = random(1003, 2), y = zeros(1003), dy = random(1003), dx = zeros(1003);
    device().activation_forward(kind, x.device, y.device);
    host().activation_forward(kind, x.host, y.host);
    expect_same(y, "value");
    device().activation_backward(kind, x.device, dy.device, dx.device);
    host().activation_backward(kind, x.host, dy.host, dx.host);
    expect_same(dx, "gradient");
  }
}

TEST_P(Kernels, SumsAlsoInPlace) {
  const Twin a = random(1003), b = random(1003);
  device().add(a.device, b.device, a.device);
  host().add(a.host, b.host, a.host);
  expect_same(a, "sum");
}

TEST_P(Kernels, ProductsInAllLayouts) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const bool accumulate : {false, true}) {
        const Twin a = random(2 * 24 * 16), b = random(2 * 16 * 40), c = random(2 * 24 * 40, Dtype::fp32);
        const auto run = [&](ComputeDevice& on, Tensor Twin::*side) {
          on.gemm({.a = a.*side,
                   .b = b.*side,
                   .c = c.*side,
                   .rows = 24,
                   .columns = 40,
                   .depth = 16,
                   .batch = 2,
                   .transpose_a = transpose_a,
                   .transpose_b = transpose_b,
                   .accumulate = accumulate});
        };
        run(device(), &Twin::device);
        run(host(), &Twin::host);
        expect_same(c, "product", 10);
      }
    }
  }
}

TEST_P(Kernels, AttentionAndItsGradient) {
  for (const bool causal : {true, false}) {
    for (const std::int64_t head_dim : {16, 5}) {
      const std::int64_t samples = 2, length = head_dim == 16 ? 24 : 9, heads = 3, width = heads * head_dim;
      const Twin qkv = random(samples * length * 3 * width), output = zeros(samples * length * width);
      const Twin saved = zeros(samples * heads * length * length);
      const auto call = [&](Tensor Twin::*side) {
        return AttentionCall{qkv.*side, output.*side, saved.*side, samples, length, heads, head_dim, causal};
      };
      ASSERT_EQ(device().attention_saved(call(&Twin::device)), saved.device.count);
      device().attention_forward(call(&Twin::device));
      host().attention_forward(call(&Twin::host));
      expect_same(output, "output", 2);
      const Twin dy = random(samples * length * width), gradient = zeros(qkv.device.count);
      device().attention_backward(call(&Twin::device), dy.device, gradient.device);
      host().attention_backward(call(&Twin::host), dy.host, gradient.host);
      expect_same(gradient, "gradient", 4);  // scores and weights are rounded in between
    }
  }
}

TEST_P(Kernels, EmbeddingsWithAndWithoutPositionsAndTheirGradients) {
  constexpr std::int64_t length = 3, classes = 11;
  const Ids tokens = ids(rows, classes);
  for (const bool positions : {true, false}) {
    for (const std::int64_t columns : widths) {
      const Twin token = random(classes * columns);
      const Twin position = positions ? random(length * columns) : Twin{};
      const Twin y = zeros(rows * columns);
      device().embedding_forward(tokens.of_device.get(), token.device,
                                 {position.device.data, position.device.count, type()}, y.device, rows,
                                 length);
      host().embedding_forward(tokens.values.data(), token.host, position.host, y.host, rows, length);
      expect_same(y, "rows");
      const Twin token_gradient = random(classes * columns, Dtype::fp32);
      const Twin position_gradient = positions ? random(length * columns, Dtype::fp32) : Twin{};
      device().embedding_backward(tokens.of_device.get(), y.device, token_gradient.device,
                                  position_gradient.device, rows, length);
      host().embedding_backward(tokens.values.data(), y.host, token_gradient.host, position_gradient.host,
                                rows, length);
      // What was rounded in y goes into the sums.
      const float scale = type() == Dtype::fp32 ? 4.0F : 4096.0F;
      expect_same(token_gradient, "gradient of tokens", scale);
      if (positions) expect_same(position_gradient, "gradient of positions", scale);
    }
  }
}

TEST_P(Kernels, CrossEntropyAddsItsMeanAndLeavesTheGradient) {
  for (const std::int64_t classes : widths) {
    const Ids targets = ids(rows, static_cast<std::int32_t>(classes));
    const Twin logits = random(rows * classes, 3), loss = random(1, Dtype::fp32);
    device().cross_entropy(logits.device, targets.of_device.get(), loss.device, rows, 0.5F);
    host().cross_entropy(logits.host, targets.values.data(), loss.host, rows, 0.5F);
    expect_same(loss, "loss", 4);
    expect_same(logits, "gradient", 0.5F / rows);
  }
}

TEST_P(Kernels, AdamWStepsAsTheHostDoes) {
  for (const std::int64_t count : {1000, 1003}) {
    const Twin parameters = random(count), gradients = random(count, Dtype::fp32);
    const Twin first = zeros(count, Dtype::fp32), second = zeros(count, Dtype::fp32);
    for (int step = 1; step <= 3; ++step) {
      const AdamW settings{.learning_rate = 0.01, .weight_decay = 0.1, .step = step};
      device().adamw(parameters.device, gradients.device, first.device, second.device, settings);
      host().adamw(parameters.host, gradients.host, first.host, second.host, settings);
    }
    expect_same(parameters, "parameters", 2);
    expect_same(first, "first moment");
    expect_same(second, "second moment");
  }
}

std::string name_of_type(const testing::TestParamInfo<Dtype>& info) {
  return std::string(name_of(info.param));
}

INSTANTIATE_TEST_SUITE_P(Types, Kernels, testing::Values(Dtype::fp32, Dtype::bf16, Dtype::fp16),
                         name_of_type);

}  // namespace
}  // namespace stepcast
