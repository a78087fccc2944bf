// Flow-level runs of this simulator alone: time against the closed form, events per second, memory.
#include <cmath>
#include <cstdio>

#include "sim/engine/simulate_flows.hpp"
#include "tests/bench/child_run.hpp"
#include "tests/bench/flow_workloads.hpp"

namespace stepcast::bench {
namespace {

Outcome outcome_of(const FlowSet& set, bool grouped) {
  const FlowTimes times = simulate_flows(set, {.group_alike = grouped});
  return {static_cast<double>(times.finish) * 1e-12, set.flow_count(), times.events};
}

template <class Work>
void row(const char* name, const FatTree& tree, double expected, Work work) {
  const Measured run = run_apart(work);
  if (!run.ended) {
    std::printf("%-34s %6d  the run died\n", name, tree.hosts);
    return;
  }
  std::printf("%-34s %6d %9lld %10.6f %+9.1e %8.2f %9.2f %9.0f\n", name, tree.hosts,
              static_cast<long long>(run.outcome.flows), 1e3 * run.outcome.seconds,
              run.outcome.seconds / expected - 1, run.cpu_seconds,
              static_cast<double>(run.outcome.events) * 1e-6 / std::max(run.cpu_seconds, 1e-2), run.peak_mib);
}

void ring(const char* name, const FatTree& tree, int steps, bool grouped) {
  row(name, tree, ring_seconds(tree, steps),
      [&] { return outcome_of(ring_all_reduce(tree, steps), grouped); });
}

void exchange(const char* name, const FatTree& tree, bool grouped) {
  row(name, tree, all_to_all_seconds(tree), [&] { return outcome_of(all_to_all(tree), grouped); });
}

void all_rows() {
  std::printf("64 MiB per rank, 50 GB/s links, two-level fat tree, D-mod-K, no latency\n");
  std::printf("%-34s %6s %9s %10s %9s %8s %9s %9s\n", "run", "ranks", "flows", "time ms", "error", "CPU s",
              "Mevent/s", "peak MiB");
  constexpr int all_steps = 1 << 30;
  ring("ring", {8, 8, 8}, all_steps, false);
  ring("ring", {512, 32, 32}, all_steps, false);
  ring("ring", {1024, 32, 32}, all_steps, false);
  ring("ring, first 64 of 32766 steps", {16384, 32, 32}, 64, false);
  ring("ring, alike flows grouped", {1024, 32, 32}, all_steps, true);
  exchange("all-to-all", {256, 16, 16}, false);
  exchange("all-to-all, 4:1", {256, 16, 4}, false);
  exchange("all-to-all", {1024, 32, 32}, false);
  exchange("all-to-all, 4:1", {1024, 32, 8}, false);
  exchange("all-to-all, alike flows grouped", {1024, 32, 32}, true);
  exchange("all-to-all, 4:1, grouped", {1024, 32, 8}, true);
}

}  // namespace
}  // namespace stepcast::bench

int main() { stepcast::bench::all_rows(); }
