#include "sim/engine/detail/compiled.hpp"

#include <algorithm>
#include <limits>

namespace stepcast::detail {
namespace {

void order_streams_and_waits(const Program& program, Compiled& out) {
  const int count = static_cast<int>(program.tasks.size());
  const int slots = out.stream_first.back();
  std::vector<int> first_of(static_cast<std::size_t>(slots), -1), last_of(first_of);
  std::vector<int> previous(static_cast<std::size_t>(count), -1);
  for (int t = 0; t < count; ++t) {
    CompiledTask& task = out.tasks[t];
    if (task.stream < 0) continue;
    int& last = last_of[task.stream];
    if (last < 0) first_of[task.stream] = t;
    previous[t] = last;
    last = t;
  }
  const auto producer_of_stream = [&](int t) {
    return previous[t] >= 0 ? previous[t] : last_of[out.tasks[t].stream];
  };
  for (int t = 0; t < count; ++t) {
    if (out.tasks[t].stream >= 0) ++out.tasks[producer_of_stream(t)].successor_count;
    const Task& source = program.tasks[t];
    for (int w = source.first_wait; w < source.first_wait + source.wait_count; ++w) {
      ++out.tasks[program.waits[w].task].successor_count;
    }
  }
  int total = 0;
  for (CompiledTask& task : out.tasks) {
    task.first_successor = total;
    total += task.successor_count;
    task.successor_count = 0;
  }
  out.successors.resize(static_cast<std::size_t>(total));
  out.pending.resize(static_cast<std::size_t>(count));
  const auto connect = [&](int producer, int t, int steps) {
    CompiledTask& from = out.tasks[producer];
    out.successors[from.first_successor + from.successor_count++] = {t, steps};
    ++out.pending[t];
    if (steps > 0) {
      out.cross_step.push_back({t, producer, steps});
      out.longest_wait = std::max(out.longest_wait, steps);
    }
  };
  for (int t = 0; t < count; ++t) {
    ++out.pending[t];  // the CPU has issued it
    if (out.tasks[t].stream >= 0) {
      connect(producer_of_stream(t), t, previous[t] >= 0 ? 0 : 1);
      out.tasks[t].last_of_stream = last_of[out.tasks[t].stream] == t;
    }
    const Task& source = program.tasks[t];
    for (int w = source.first_wait; w < source.first_wait + source.wait_count; ++w) {
      const Wait& wait = program.waits[w];
      connect(wait.task, t, wait.steps_back);
      const CompiledTask& awaited = out.tasks[wait.task];
      if (awaited.kind == TaskKind::host_wait && awaited.rank != source.rank)
        out.eager_host[awaited.rank] = 1;
    }
  }
}

void queue_communicators(const Program& program, Compiled& out) {
  const std::size_t communicators = program.communicators.size();
  std::vector<int> chain_of(communicators), seen_on(communicators, -1);
  for (int rank = 0; rank < program.ranks; ++rank) {
    for (const int t : out.issue_order.row(rank)) {
      CompiledTask& task = out.tasks[t];
      if (task.kind != TaskKind::collective) continue;
      const int communicator = program.collectives[task.payload].communicator;
      if (seen_on[communicator] != rank) {
        seen_on[communicator] = rank;
        chain_of[communicator] = static_cast<int>(out.chain_concurrency.size());
        out.chain_concurrency.push_back(program.communicators[communicator].concurrency);
      }
      task.chain = chain_of[communicator];
    }
  }
  const int count = static_cast<int>(out.tasks.size());
  out.chains = group_by(static_cast<int>(out.chain_concurrency.size()), count,
                        [&](int t) { return out.tasks[t].chain; });
}

/// Resources that can be left out of the rates without changing them: r is dominated by q when for every cost
/// weight_r / capacity_r <= weight_q / capacity_q. Then r is never fuller than q, it saturates only together
/// with q, and whoever it would hold q holds at the same level.
std::vector<char> dominated_resources(const Program& program) {
  const std::size_t count = program.resources.size();
  std::vector<char> dominated(count, 0);
  constexpr std::size_t worth_it =
      64;  // pairs are compared; beyond this the comparison costs more than it saves
  if (count > worth_it) return dominated;
  const std::size_t of_calls = program.collective_costs.size();
  const std::size_t costs = of_calls + program.background.size();
  std::vector<double> fill(count * costs, 0);
  for (std::size_t c = 0; c < costs; ++c) {
    const CollectiveCost& cost =
        c < of_calls ? program.collective_costs[c] : program.background[c - of_calls];
    for (const Load& load : cost.loads) {
      fill[static_cast<std::size_t>(load.resource) * costs + c] +=
          load.weight / program.resources[load.resource].capacity;
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    const double* of_r = &fill[r * costs];
    for (std::size_t q = 0; q < count && !dominated[r]; ++q) {
      if (q == r || dominated[q]) continue;
      const double* of_q = &fill[q * costs];
      std::size_t c = 0;
      while (c < costs && of_r[c] <= of_q[c]) ++c;
      dominated[r] = c == costs;
    }
  }
  return dominated;
}

void compile_costs(const Program& program, Compiled& out) {
  out.levels = static_cast<int>(program.reserved_levels.size());
  out.durations.reserve(program.works.size() * program.reserved_levels.size());
  out.memory_times.reserve(program.works.size());
  out.pause_times.reserve(program.works.size());
  for (const WorkCost& work : program.works) {
    for (int level = 0; level < out.levels; ++level) {
      const int last = static_cast<int>(work.durations.size()) - 1;
      out.durations.push_back(static_cast<double>(work.durations[std::min(level, last)]));
    }
    out.memory_times.push_back(static_cast<double>(work.memory_time));
    out.pause_times.push_back(static_cast<double>(work.pause_time));
  }
  const std::vector<char> dominated = dominated_resources(program);
  std::vector<int> place(program.resources.size(), -1);
  const auto compile = [&](const CollectiveCost& cost) {
    CompiledCost made;
    made.latency = cost.latency;
    made.payload = cost.payload;
    made.sms = cost.sms;
    made.memory_share_per_rate = cost.memory_share_per_rate;
    made.host_share = cost.host_share;
    made.slows_compute = cost.memory_share_per_rate > 0 || cost.host_share > 0;
    made.first_load = static_cast<int>(out.loads.size());
    for (const Load& load : cost.loads) {
      if (load.weight <= 0 || dominated[load.resource]) continue;
      int& where = place[load.resource];
      if (where >= made.first_load) {
        out.loads[where].weight += load.weight;
      } else {
        where = static_cast<int>(out.loads.size());
        out.loads.push_back(load);
      }
    }
    made.load_count = static_cast<int>(out.loads.size()) - made.first_load;
    made.alone_rate = cost.rate_ceiling > 0 ? cost.rate_ceiling : std::numeric_limits<double>::infinity();
    for (int l = made.first_load; l < made.first_load + made.load_count; ++l) {
      made.alone_rate =
          std::min(made.alone_rate, program.resources[out.loads[l].resource].capacity / out.loads[l].weight);
    }
    made.level_rate = std::max(made.alone_rate, cost.group_rate);
    out.costs.push_back(made);
  };
  for (const CollectiveCost& cost : program.collective_costs) compile(cost);
  for (const CollectiveCost& cost : program.background) compile(cost);
}

}  // namespace

Compiled::Compiled(const Program& program) {
  const int count = static_cast<int>(program.tasks.size());
  stream_first.assign(1, 0);
  for (const int streams : program.streams) stream_first.push_back(stream_first.back() + streams);
  eager_host.assign(static_cast<std::size_t>(program.ranks), 1);
  tasks.resize(static_cast<std::size_t>(count));
  for (int t = 0; t < count; ++t) {
    const Task& source = program.tasks[t];
    CompiledTask& task = tasks[t];
    task.kind = source.kind;
    task.rank = source.rank;
    task.payload = source.payload;
    task.host_time = source.host_time;
    task.first_launch = source.host_time;
    if (source.kind == TaskKind::compute) task.first_launch /= program.works[source.payload].kernels;
    if (source.kind != TaskKind::host_wait) {
      task.stream = stream_first[source.rank] + source.stream;
      eager_host[source.rank] = 0;
    }
  }
  issue_order = group_by(program.ranks, count, [&](int t) { return tasks[t].rank; });
  call_tasks = group_by(static_cast<int>(program.collectives.size()), count,
                        [&](int t) { return tasks[t].kind == TaskKind::collective ? tasks[t].payload : -1; });
  order_streams_and_waits(program, *this);
  queue_communicators(program, *this);
  compile_costs(program, *this);
}

}  // namespace stepcast::detail
