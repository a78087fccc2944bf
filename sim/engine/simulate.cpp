#include "sim/engine/simulate.hpp"

#include <algorithm>
#include <cmath>

#include "base/diagnostic.hpp"
#include "sim/engine/detail/engine.hpp"
#include "sim/engine/detail/noise.hpp"
#include "sim/engine/program_check.hpp"

namespace stepcast {
namespace {

constexpr double agreement = 1e-9;  // relative

bool agree(Picoseconds a, Picoseconds b) {
  return std::abs(static_cast<double>(a - b)) <= agreement * static_cast<double>(std::max(a, b));
}

/// Steps until two intervals agree. Returns the last one's index.
int run_to_steady_state(detail::Engine& engine, const SimulateOptions& options, bool& steady) {
  Picoseconds previous_end = 0, previous_interval = 0;
  steady = false;
  for (int step = 0;; ++step) {
    const Picoseconds end = engine.run_to_end_of(step);
    const Picoseconds interval = end - previous_end;
    // The first interval begins at time 0, not at the end of a step: it is compared with nothing.
    steady = step >= 2 && agree(interval, previous_interval);
    if ((steady && step + 1 >= options.minimum_steps) || step + 1 >= options.maximum_steps) return step;
    previous_end = end;
    previous_interval = interval;
  }
}

Picoseconds interval_before(const Program& program, const std::vector<Interval>& intervals,
                            std::size_t mark) {
  const auto start = [&](std::size_t m) { return intervals[program.micro_batch_marks[m]].resident; };
  return start(mark) - start(mark - 1);
}

void extrapolate_micro_batches(const Program& program, Timeline& timeline) {
  timeline.micro_batches_agree = true;
  timeline.step_time = timeline.end - timeline.begin;
  if (program.repeated_micro_batches == 0) return;
  const std::size_t last = program.micro_batch_marks.size() - 1;
  timeline.micro_batch_interval = interval_before(program, timeline.intervals, last);
  const double repeated = static_cast<double>(program.repeated_micro_batches) *
                          static_cast<double>(timeline.micro_batch_interval);
  if (repeated > 4e18) throw ClockOverflow("the repeated micro-batches");
  timeline.step_time += program.repeated_micro_batches * timeline.micro_batch_interval;
  if (last < 2) {
    timeline.micro_batches_agree = false;  // one interval has nothing to agree with
    return;
  }
  const Picoseconds before = interval_before(program, timeline.intervals, last - 1);
  constexpr Picoseconds rounding = 2;
  timeline.micro_batches_agree = std::abs(before - timeline.micro_batch_interval) <= rounding ||
                                 agree(before, timeline.micro_batch_interval);
}

}  // namespace

Timeline simulate(const Program& program, const SimulateOptions& options) {
  check(program);
  detail::Engine engine(program, options, std::max(options.maximum_steps, 1));
  engine.expect_steps(std::max(options.minimum_steps, 1));
  Timeline timeline;
  const int step = run_to_steady_state(engine, options, timeline.steady);
  engine.complete(step);
  timeline.intervals = engine.intervals(step);
  timeline.begin = step > 0 ? engine.run_to_end_of(step - 1) : 0;
  timeline.end = engine.run_to_end_of(step);
  timeline.steps_simulated = step + 1;
  timeline.events = engine.events();
  extrapolate_micro_batches(program, timeline);
  if (options.progress) options.progress(1);
  return timeline;
}

std::vector<Picoseconds> simulate_with_jitter(const Program& program, const Jitter& jitter,
                                              const SimulateOptions& options) {
  SimulateOptions quietly = options;
  quietly.progress = nullptr;
  const int first = simulate(program, quietly).steps_simulated;
  const int last = first + jitter.steps - 1;
  detail::JitterNoise noise(program, jitter, first);
  detail::Engine engine(program, options, last + 1, &noise);
  engine.expect_steps(last + 1);
  Picoseconds previous = engine.run_to_end_of(first - 1);
  std::vector<Picoseconds> times;
  std::vector<double> micro_batches;
  for (int step = first; step <= last; ++step) {
    const Picoseconds end = engine.run_to_end_of(step);
    times.push_back(end - previous);
    previous = end;
    if (program.repeated_micro_batches == 0) continue;
    engine.complete(step);
    micro_batches.push_back(static_cast<double>(
        interval_before(program, engine.intervals(step), program.micro_batch_marks.size() - 1)));
  }
  if (!micro_batches.empty()) {
    // The repeated micro-batches draw independently: their sum has n times the mean, sqrt(n) times the
    // deviation.
    const double n = program.repeated_micro_batches;
    double mean = 0;
    for (const double interval : micro_batches) mean += interval / static_cast<double>(micro_batches.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i] += std::llround(n * mean + std::sqrt(n) * (micro_batches[i] - mean));
    }
  }
  std::sort(times.begin(), times.end());
  if (options.progress) options.progress(1);
  return times;
}

}  // namespace stepcast
