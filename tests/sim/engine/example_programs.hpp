#pragma once

#include <vector>

#include "tests/sim/engine/program_builder.hpp"

namespace stepcast::test {

/// A sharded step as FSDP runs it: per layer an all-gather, forward; per layer an all-gather, backward, a
/// reduce-scatter; the optimizer. `ranks` GPUs in a ring, each with its own outgoing link of 50 GB/s.
struct ShardedStep {
  int ranks{1};
  int layers{8};
  int micro_batches{1};
  bool folded{};
  Picoseconds host_time{20'000'000};
  std::vector<int> slow_rank_percent{};  ///< of compute, by rank; empty: all alike
};

inline Program sharded_step(const ShardedStep& ask) {
  const int simulated = ask.folded ? 1 : ask.ranks;
  ProgramBuilder make(simulated, 3);
  Program& p = make.program;
  p.reserved_levels = {0, 20, 40};
  p.multiplicity.assign(static_cast<std::size_t>(simulated), ask.folded ? ask.ranks : 1);
  const double share = static_cast<double>(ask.ranks - 1) / ask.ranks;
  std::vector<Load> loads;
  for (int link = 0; link < simulated; ++link) {
    loads.push_back({make.resource(50e9, ask.folded ? ask.ranks : 1), share});
  }
  const auto collective_cost = [&](double bytes) {
    const int cost = make.cost(15'000'000, bytes, loads, 45e9, 20);
    p.collective_costs[cost].memory_share_per_rate = 2.5 / 3e12;
    return cost;
  };
  const int gather = collective_cost(40e6), scatter = collective_cost(80e6);
  std::vector<int> forward, backward, optimizer;
  for (int rank = 0; rank < simulated; ++rank) {
    const auto scaled = [&](Picoseconds time) {
      return ask.slow_rank_percent.empty() ? time : time * ask.slow_rank_percent[rank] / 100;
    };
    const auto work = [&](Picoseconds time, int kernels) {
      return make.work({scaled(time), scaled(time) * 5 / 4, scaled(time) * 3 / 2}, scaled(time) / 5, kernels);
    };
    forward.push_back(work(900'000'000, 12));
    backward.push_back(work(1'800'000'000, 24));
    optimizer.push_back(work(300'000'000, 4));
  }
  const int other = make.communicator();
  std::vector<int> calls;
  const auto everyone = [&](int cost, int communicator) {
    calls.push_back(make.call(cost, simulated, communicator));
  };
  for (int m = 0; m < ask.micro_batches; ++m) {
    for (int layer = 0; layer < ask.layers; ++layer) everyone(gather, 0);
    for (int layer = 0; layer < ask.layers; ++layer) {
      everyone(gather, 0);
      everyone(scatter, other);
    }
  }
  for (int rank = 0; rank < simulated; ++rank) {
    std::size_t next = 0;
    int last_scatter = -1;
    std::vector<int> computed;
    const auto gather_two_ahead = [&] {
      std::vector<Wait> waits;
      if (computed.size() >= 2) waits.push_back({computed[computed.size() - 2], 0});
      return make.collective(rank, 1, calls[next++], waits, ask.host_time);
    };
    const int first_task = static_cast<int>(p.tasks.size());
    for (int m = 0; m < ask.micro_batches; ++m) {
      for (int layer = 0; layer < ask.layers; ++layer) {
        const int gathered = gather_two_ahead();
        const int t = make.compute(rank, 0, forward[rank], {{gathered, 0}}, 12 * ask.host_time);
        computed.push_back(t);
        if (rank == 0 && layer == 0) p.micro_batch_marks.push_back(t);
      }
      for (int layer = 0; layer < ask.layers; ++layer) {
        const int gathered = gather_two_ahead();
        const int t = make.compute(rank, 0, backward[rank], {{gathered, 0}}, 24 * ask.host_time);
        computed.push_back(t);
        last_scatter = make.collective(rank, 2, calls[next++], {{t, 0}}, ask.host_time);
      }
    }
    const int end = make.compute(rank, 0, optimizer[rank], {{last_scatter, 0}}, 4 * ask.host_time);
    p.tasks[first_task].first_wait = static_cast<int>(p.waits.size());
    p.tasks[first_task].wait_count = 1;
    p.waits.push_back({end, 1});  // the first gather reads what the optimizer wrote
  }
  return p;
}

}  // namespace stepcast::test
