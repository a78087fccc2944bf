#pragma once

#include <vector>

#include "base/units.hpp"
#include "sim/engine/program.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/report/report.hpp"

namespace stepcast {

[[nodiscard]] constexpr Seconds to_seconds(Picoseconds time) {
  return Seconds(static_cast<double>(time) * 1e-12);
}

/// A steady step taken apart.
struct StepAnalysis {
  Breakdown breakdown;
  int critical_rank{};  ///< simulated rank
  std::vector<Seconds>
      exposed;  ///< by task: its part of the exposed communication, repeated micro-batches included
  std::vector<Seconds>
      exposed_moving;  ///< by task: the same without waits for late ranks; at most its moving time
};

/// Partition of the critical rank's step; each instant of [timeline.begin, timeline.end] is counted once, for
/// the first of these that holds:
///
///   optimizer      a kernel of role `optimizer` runs
///   compute        a kernel of another role runs (forward, backward, recompute, copy)
///   communication  a collective is resident: it moves bytes, or waits for late ranks
///   optimizer      between the first and the last of its kernels (their launch waits)
///   bubble         a send_recv waits for its peer: the pipeline has nothing to do
///   input          a task of role `input` keeps the rank waiting, and the CPU has nothing of its own to do
///   host           nothing of the above: the GPU waits for its CPU, also between the kernels of one task
///
/// Work that reaches over the end of the step is folded back into it, since the steady step repeats exactly.
/// The window between the last two micro-batch marks counts 1 + repeated_micro_batches times. The parts add
/// up to timeline.step_time. The critical rank is the one that computes longest (the lowest of equals):
/// others wait for it. An exposed instant with several resident collectives is shared equally among them;
/// for exposed_moving, among those that move.
[[nodiscard]] StepAnalysis analyse_step(const Program& program, const Timeline& timeline);

/// How often a planned task runs in the whole step: 1, or 1 + repeated_micro_batches for those of the
/// micro-batch that stands for the repeated ones.
[[nodiscard]] int repetitions(const Program& program, const Task& task);

}  // namespace stepcast
