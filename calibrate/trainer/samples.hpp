#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/trainer/graph.hpp"

namespace stepcast {

/// Where a rank's micro-batches lie in the global batch: micro-batch m of rank r has samples
/// (m ranks + r) size .. + size, so that any split of a global batch sees the same samples.
struct BatchPlace {
  int rank{}, ranks{1}, micro_batch_size{1}, micro_batches{1};

  [[nodiscard]] std::int64_t first_sample(int micro_batch) const {
    return (std::int64_t{micro_batch} * ranks + rank) * micro_batch_size;
  }
};

/// Inputs and targets of one micro-batch; `tokens` or `features`.
struct MicroBatch {
  std::vector<std::int32_t> tokens, targets;
  std::vector<float> features;
};

/// Generated data that can be learned; each sample depends on seed, step and its place in the global batch
/// only. Sequences: a Markov chain in which four tokens may follow each (loss falls from log(classes) towards
/// log 4). Vectors: half the centre of one of the classes, a corner of a cube, and uniform noise of deviation
/// 1.
class Samples {
 public:
  Samples(const Graph& graph, std::uint64_t seed);
  [[nodiscard]] MicroBatch micro_batch(int step, std::int64_t first_sample, int count) const;

 private:
  std::int64_t length_, features_, classes_;
  std::uint64_t seed_;
};

/// `count` starting values of a parameter, the same for every rank: uniform with deviation
/// sqrt(2 / fan_in) for weights of products (He et al., arXiv 1502.01852), 0.02 for embeddings (GPT-2); ones
/// and zeros where the parameter starts so.
[[nodiscard]] std::vector<float> starting_values(const TrainedParameter& parameter, int number,
                                                 std::uint64_t seed);

}  // namespace stepcast
