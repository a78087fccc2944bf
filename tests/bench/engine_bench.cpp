#include <benchmark/benchmark.h>

#include <vector>

#include "sim/engine/fair_share.hpp"
#include "sim/engine/fold.hpp"
#include "sim/engine/program_check.hpp"
#include "tests/sim/engine/example_programs.hpp"

namespace stepcast {
namespace {

using test::sharded_step;

/// items/s: task executions, over all steps until the steady one.
void count(benchmark::State& state, const Program& program) {
  std::int64_t tasks = 0, events = 0;
  for (auto _ : state) {
    const Timeline line = simulate(program);
    tasks += line.steps_simulated * static_cast<std::int64_t>(program.tasks.size());
    events += line.events;
  }
  state.SetItemsProcessed(tasks);
  state.counters["tasks_per_step"] = static_cast<double>(program.tasks.size());
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

/// 32 layers and four written-out micro-batches: what one point of a sweep costs.
void simulate_folded_step(benchmark::State& state) {
  count(state,
        sharded_step(
            {.ranks = 32, .layers = 32, .micro_batches = static_cast<int>(state.range(0)), .folded = true}));
}
BENCHMARK(simulate_folded_step)->Arg(1)->Arg(4)->Arg(16)->Unit(benchmark::kMicrosecond);

void simulate_every_rank(benchmark::State& state) {
  count(state, sharded_step({.ranks = static_cast<int>(state.range(0)), .layers = 32}));
}
BENCHMARK(simulate_every_rank)->Arg(8)->Arg(512)->Unit(benchmark::kMillisecond);

void check_a_program(benchmark::State& state) {
  const Program program =
      sharded_step({.ranks = 32, .layers = 32, .micro_batches = 4, .folded = state.range(0) == 1});
  for (auto _ : state) check(program);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(program.tasks.size()));
}
BENCHMARK(check_a_program)->Arg(1)->Arg(32)->Unit(benchmark::kMicrosecond);

struct LinkWeight {
  int link{};
  double weight{};
};

/// 20 costs over all links, every fourth with another weight on the uplinks. items/s: (link, weight) pairs.
void fold_the_links_of_a_cluster(benchmark::State& state) {
  const int links = static_cast<int>(state.range(0));
  std::vector<std::vector<LinkWeight>> costs(20);
  for (std::size_t c = 0; c < costs.size(); ++c) {
    for (int link = 0; link < links; ++link)
      costs[c].push_back({link, link % 8 == 7 && c % 4 == 0 ? 0.5 : 0.96875});
  }
  for (auto _ : state) {
    LinkFolder folder([](int link) { return link % 8 == 7 ? 50e9 : 450e9; });
    for (const auto& cost : costs) folder.add(cost);
    benchmark::DoNotOptimize(folder.fold());
  }
  state.SetItemsProcessed(state.iterations() * 20 * links);
}
BENCHMARK(fold_the_links_of_a_cluster)->Arg(500)->Arg(200000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace stepcast
