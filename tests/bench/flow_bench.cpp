// Flow-level runs of this simulator alone: time against the closed form, events per second, memory.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>

#include "sim/collective/stepwise.hpp"
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
  std::printf("%-34s %6d %9lld %10.6f %+9.1e %8.2f ", name, tree.hosts,
              static_cast<long long>(run.outcome.flows), 1e3 * run.outcome.seconds,
              run.outcome.seconds / expected - 1, run.cpu_seconds);
  if (run.cpu_seconds < 0.02)
    std::printf("%9s", "-");
  else
    std::printf("%9.2f", static_cast<double>(run.outcome.events) * 1e-6 / run.cpu_seconds);
  std::printf(" %9.0f\n", run.peak_mib);
}

void ring(const char* name, const FatTree& tree, int steps, bool grouped) {
  row(name, tree, ring_seconds(tree, steps),
      [&] { return outcome_of(ring_all_reduce(tree, steps), grouped); });
}

void exchange(const char* name, const FatTree& tree, bool grouped) {
  row(name, tree, all_to_all_seconds(tree), [&] { return outcome_of(all_to_all(tree), grouped); });
}

/// Rings of H100 nodes as the product simulates them, latencies and all.
void nccl_ring(int nodes, bool fluid_only) {
  double fluid = 0;  // seconds
  const auto run = [&](bool chunks) {
    ClusterRequest request;
    request.nodes = nodes;
    request.node = load_node("hgx-h100", {});
    request.gpus_per_node = 8;
    request.fabric = load_fabric("infiniband-400g", {});
    const CollectiveModel model(std::make_shared<const Cluster>(request), Profile{});
    Group group{std::vector<int>(static_cast<std::size_t>(8 * nodes))};
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    const CollectiveForce ring{Algorithm::ring, Protocol::simple, 0};
    if (chunks) {
      const StepwiseResult result = stepwise(model, Operation::all_reduce, gibibytes(1), {group}, ring);
      return Outcome{result.time.value, result.flows, 2 * result.flows};
    }
    return Outcome{model.plan(Operation::all_reduce, gibibytes(1), {group}, ring).time_alone.value, 1, 2};
  };
  fluid = run_apart([&] { return run(false); }).outcome.seconds;
  const FatTree ranks{8 * nodes};
  row("H100 ring, 1 GiB, fluid", ranks, fluid, [&] { return run(false); });
  if (!fluid_only) row("H100 ring, 1 GiB, stepwise", ranks, fluid, [&] { return run(true); });
}

void all_rows() {
  std::printf(
      "64 MiB per rank, 50 GB/s links, two-level fat tree, D-mod-K, no latency; error: against the closed "
      "form\n");
  std::printf("%-34s %6s %9s %10s %9s %8s %9s %9s\n", "run", "ranks", "flows", "time ms", "error", "CPU s",
              "Mevent/s", "peak MiB");
  constexpr int all_steps = 1 << 30;
  for (const FatTree& tree : {FatTree{8, 8, 8}, FatTree{512, 32, 32}, FatTree{1024, 32, 32}})
    ring("ring", tree, all_steps, false);
  ring("ring, first 64 of 32766 steps", {16384, 32, 32}, 64, false);
  ring("ring, alike flows grouped", {1024, 32, 32}, all_steps, true);
  for (const bool grouped : {false, true}) {
    const char* even = grouped ? "all-to-all, alike flows grouped" : "all-to-all";
    const char* narrow = grouped ? "all-to-all 4:1, grouped" : "all-to-all 4:1";
    if (!grouped) exchange(even, {256, 16, 16}, false);
    if (!grouped) exchange(narrow, {256, 16, 4}, false);
    exchange(even, {1024, 32, 32}, grouped);
    exchange(narrow, {1024, 32, 8}, grouped);
  }
  std::printf("the product's collectives; error: against the fluid model\n");
  nccl_ring(1, false);
  nccl_ring(64, false);
  nccl_ring(2048, true);
}

}  // namespace
}  // namespace stepcast::bench

int main() { stepcast::bench::all_rows(); }
