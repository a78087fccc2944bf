#include "calibrate/trainer/samples.hpp"

#include <cmath>

#include "base/hash.hpp"

namespace stepcast {
namespace {

constexpr std::uint64_t successors = 4;

/// A number that depends on all of its arguments.
std::uint64_t hash_of(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  return splitmix64(splitmix64(splitmix64(a) ^ b) ^ c);
}

/// Uniform, mean 0, deviation 1.
float uniform(std::uint64_t bits) {
  constexpr double half_width = 1.7320508075688772;  // sqrt(3)
  return static_cast<float>((static_cast<double>(bits >> 11U) * 0x1.0p-52 - 1) * half_width);
}

}  // namespace

Samples::Samples(const Graph& graph, std::uint64_t seed)
    : length_(graph.rows_per_sample),
      features_(graph.input_features),
      classes_(graph.classes),
      seed_(splitmix64(seed)) {}

MicroBatch Samples::micro_batch(int step, std::int64_t first_sample, int count) const {
  MicroBatch batch;
  batch.features.reserve(static_cast<std::size_t>(features_ * count));
  const auto classes = static_cast<std::uint64_t>(classes_);
  for (std::int64_t sample = first_sample; sample < first_sample + count; ++sample) {
    std::uint64_t state =
        hash_of(seed_, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(sample));
    std::uint64_t label = state % classes;
    if (features_ == 0) {
      for (std::int64_t i = 0; i < length_; ++i) {
        batch.tokens.push_back(static_cast<std::int32_t>(label));
        state = splitmix64(state);
        label = hash_of(seed_, label, state % successors) % classes;
        batch.targets.push_back(static_cast<std::int32_t>(label));
      }
      continue;
    }
    batch.targets.push_back(static_cast<std::int32_t>(label));
    std::uint64_t corner = 0;
    for (std::int64_t i = 0; i < features_; ++i) {
      // 64 of a corner's signs are one number: data should take no time beside products.
      if (i % 64 == 0) corner = hash_of(seed_, label, static_cast<std::uint64_t>(i));
      state += golden_ratio;
      batch.features.push_back(((corner >> (i % 64)) & 1U) != 0 ? 0.5F + uniform(mixed(state))
                                                                : uniform(mixed(state)) - 0.5F);
    }
  }
  return batch;
}

std::vector<float> starting_values(const TrainedParameter& parameter, int number, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(parameter.count));
  if (parameter.start == TrainedParameter::Start::zero) return values;
  if (parameter.start == TrainedParameter::Start::one) {
    values.assign(values.size(), 1.0F);
    return values;
  }
  const float deviation =
      parameter.fan_in > 0 ? std::sqrt(2.0F / static_cast<float>(parameter.fan_in)) : 0.02F;
  std::uint64_t state = hash_of(seed, static_cast<std::uint64_t>(number), 1);
  for (float& value : values) {
    state += golden_ratio;
    value = deviation * uniform(mixed(state));
  }
  return values;
}

}  // namespace stepcast
