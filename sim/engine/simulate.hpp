#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/engine/program.hpp"

namespace stepcast {

/// One task of the steady step. For collectives issued <= eligible <= resident <= moving <= end.
struct Interval {
  int task{};
  Picoseconds issued{};    ///< the CPU has finished issuing it (compute: its first kernel)
  Picoseconds eligible{};  ///< stream predecessors and awaited events are done
  Picoseconds resident{};  ///< start of its kernel: SMs are taken (compute: start)
  Picoseconds moving{};    ///< all participants resident (compute: start)
  Picoseconds end{};
};

struct Timeline {
  std::vector<Interval> intervals;  ///< by task index: intervals[i].task == i
  Picoseconds begin{},
      end{};  ///< of the reported step: end of the previous step's end_task to end of this one's
  /// Step time with the repeated micro-batches added: (end - begin) + repeated * interval.
  Picoseconds step_time{};
  Picoseconds micro_batch_interval{};  ///< between the last two marks; 0 when nothing is repeated
  bool steady{};                       ///< two successive steps agreed
  bool
      micro_batches_agree{};  ///< the last two intervals between marks agreed (true when nothing is repeated)
  int steps_simulated{};
  std::int64_t events{};
};

struct Jitter {
  double compute{}, collective{};  ///< relative standard deviation of one task's time; a class of k ranks
                                   ///< draws the k-sample maximum, inverse CDF of u^(1/k) (design 4)
  std::uint64_t seed{1};
  int steps{200};
};

struct SimulateOptions {
  int minimum_steps{3}, maximum_steps{12};
  const std::atomic<bool>* cancel{};           ///< throws Interrupted
  std::function<void(double share)> progress;  ///< 0 .. 1
};

/// Runs the program until two successive step intervals agree (at least three steps) and returns the last
/// one. Deterministic: same program, same bytes out. Events at the same time run in the order in which they
/// were scheduled. Rates of moving collectives: weighted max-min fairness over Program::resources
/// (progressive filling).
/// @throws InternalError when the program cannot finish (a wait that never comes true)
[[nodiscard]] Timeline simulate(const Program& program, const SimulateOptions& options = {});

/// Step times of `jitter.steps` steps drawn around the steady state, sorted ascending.
[[nodiscard]] std::vector<Picoseconds> simulate_with_jitter(const Program& program, const Jitter& jitter,
                                                            const SimulateOptions& options = {});

}  // namespace stepcast
