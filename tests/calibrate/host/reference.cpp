#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace stepcast::reference {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Values random(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<float> normal;
  Values values(at(count));
  for (double& value : values) value = static_cast<double>(normal(bits));
  return values;
}

Values gemm(const Values& a, bool transpose_a, const Values& b, bool transpose_b, std::int64_t rows,
            std::int64_t columns, std::int64_t depth) {
  Values c(at(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t k = 0; k < depth; ++k) {
        c[at(i * columns + j)] += a[at(transpose_a ? k * rows + i : i * depth + k)] *
                                  b[at(transpose_b ? j * depth + k : k * columns + j)];
      }
    }
  }
  return c;
}

Values gelu(const Values& x) {
  Values y;
  for (const double v : x) {
    y.push_back(v / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v))));
  }
  return y;
}

Values relu(const Values& x) {
  Values y;
  for (const double v : x) y.push_back(std::max(v, 0.0));
  return y;
}

Values norm(const Values& x, const Values& weight, const Values& bias) {
  Values y(x.size());
  const std::size_t columns = weight.size();
  for (std::size_t first = 0; first < x.size(); first += columns) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < columns; ++i) mean += x[first + i] / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i) {
      variance += std::pow(x[first + i] - mean, 2) / static_cast<double>(columns);
    }
    for (std::size_t i = 0; i < columns; ++i) {
      y[first + i] = (x[first + i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i];
    }
  }
  return y;
}

Values attention(const Values& qkv, std::int64_t samples, std::int64_t length, std::int64_t heads,
                 std::int64_t head_dim, bool causal) {
  const std::int64_t width = heads * head_dim;
  Values output(at(samples * length * width));
  const auto part = [&](std::int64_t sample, std::int64_t row, std::int64_t which, std::int64_t head,
                        std::int64_t d) {
    return qkv[at((sample * length + row) * 3 * width + which * width + head * head_dim + d)];
  };
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t row = 0; row < length; ++row) {
        const std::int64_t seen = causal ? row + 1 : length;
        Values p(at(seen));
        double sum = 0;
        for (std::int64_t other = 0; other < seen; ++other) {
          double score = 0;
          for (std::int64_t d = 0; d < head_dim; ++d) {
            score += part(sample, row, 0, head, d) * part(sample, other, 1, head, d);
          }
          p[at(other)] = std::exp(score / std::sqrt(static_cast<double>(head_dim)));
          sum += p[at(other)];
        }
        for (std::int64_t other = 0; other < seen; ++other) {
          for (std::int64_t d = 0; d < head_dim; ++d) {
            output[at((sample * length + row) * width + head * head_dim + d)] +=
                p[at(other)] / sum * part(sample, other, 2, head, d);
          }
        }
      }
    }
  }
  return output;
}

double cross_entropy(const Values& logits, const std::vector<std::int32_t>& targets) {
  const std::size_t classes = logits.size() / targets.size();
  double total = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < classes; ++i) sum += std::exp(logits[row * classes + i]);
    total += std::log(sum) - logits[row * classes + static_cast<std::size_t>(targets[row])];
  }
  return total / static_cast<double>(targets.size());
}

Values gradient(const std::function<double(const Values&)>& loss, Values at_point) {
  constexpr double step = 1e-5;
  Values result(at_point.size());
  for (std::size_t i = 0; i < at_point.size(); ++i) {
    const double here = at_point[i];
    at_point[i] = here + step;
    const double above = loss(at_point);
    at_point[i] = here - step;
    result[i] = (above - loss(at_point)) / (2 * step);
    at_point[i] = here;
  }
  return result;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace stepcast::reference
