#pragma once

#include <vector>

#include "sim/engine/detail/engine.hpp"
#include "sim/engine/detail/random.hpp"

namespace stepcast::detail {

/// Random factors max(0.5, 1 + sigma z) on the times of tasks and calls.
///
/// A task of n kernels has sigma = jitter.compute / sqrt(n): its kernels' errors average out. Ranks of a
/// class synchronize only where compute waits for a collective, so between two such points of a stream (a
/// segment) the slowest of k ranks counts, and what is the largest is the sum over the segment, not each
/// task: the segment's total deviation is the k-sample maximum, inverse CDF of u^(1/k), times the root of the
/// sum of squared deviations; single tasks are normal draws conditioned on that total. For one task a segment
/// this is the k-sample maximum of the task.
class JitterNoise : public StepNoise {
 public:
  JitterNoise(const Program& program, const Jitter& jitter, int first_noisy_step);
  bool draw(int step, std::vector<double>& of_task, std::vector<double>& of_call) override;

 private:
  struct Segment {
    int multiplicity{};
    int first{}, count{};  ///< range in tasks_
  };
  const Program& program_;
  Jitter jitter_;
  int first_noisy_step_;
  SplitMix64 random_;
  std::vector<Segment> segments_;
  std::vector<int> tasks_;
  std::vector<double> deviations_;  ///< ps, by place in tasks_
  std::vector<double> draws_;
};

}  // namespace stepcast::detail
