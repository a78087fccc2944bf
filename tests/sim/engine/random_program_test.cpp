#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/engine/detail/random.hpp"
#include "sim/engine/fair_share.hpp"
#include "tests/sim/engine/program_builder.hpp"

namespace stepcast {
namespace {

using test::ProgramBuilder;

constexpr int streams = 3;

/// Programs that a planner would never write, but that obey the rules: each "round" is a compute task of one
/// rank or a call of a random group of ranks; waits go to earlier tasks only, so nothing can wait in a
/// circle.
Program random_program(detail::SplitMix64& random) {
  const auto below = [&](int n) { return static_cast<int>(random.next() % static_cast<std::uint64_t>(n)); };
  const int ranks = 1 + below(4);
  ProgramBuilder make(ranks, streams);
  make.program.reserved_levels = {0, 10, 20};
  std::vector<int> costs, communicators{0, make.communicator(2), make.communicator()};
  for (int r = 0; r < 4; ++r) make.resource(1e12 * (1 + below(5)));
  for (int c = 0; c < 5; ++c) {
    std::vector<Load> loads;
    for (int r = 0; r < 4; ++r) {
      if (below(2)) loads.push_back({r, 0.25 * (1 + below(4))});
    }
    costs.push_back(
        make.cost(below(50), below(6) ? 100 * below(20) : 0, loads, below(2) ? 2e12 : 0, 10 * below(3)));
    make.program.collective_costs.back().memory_share_per_rate = below(2) ? 1e-13 : 0;
    make.program.collective_costs.back().host_share = below(3) ? 0 : 0.3;
  }
  std::vector<std::vector<int>> tasks_of(static_cast<std::size_t>(ranks));
  const auto waits = [&](int rank) {
    std::vector<Wait> chosen;
    for (int w = below(3); w > 0; --w) {
      const int from = below(4) ? rank : below(ranks);
      if (!tasks_of[from].empty()) {
        chosen.push_back(
            {tasks_of[from][below(static_cast<int>(tasks_of[from].size()))], below(4) ? 0 : 1 + below(2)});
      }
    }
    return chosen;
  };
  const int rounds = 10 + below(40);
  for (int round = 0; round < rounds; ++round) {
    const int kind = below(10);
    const int rank = below(ranks);
    if (kind < 5) {
      const Picoseconds base = below(300);
      const int work = make.work({base, base + below(100), base + 100 + below(100)}, base / 2, 1 + below(4));
      tasks_of[rank].push_back(make.compute(rank, below(streams), work, waits(rank), below(60)));
    } else if (kind < 6) {
      tasks_of[rank].push_back(make.host_wait(rank, waits(rank), below(20)));
    } else {
      std::vector<int> group;
      for (int r = 0; r < ranks; ++r) {
        if (r == rank || below(2)) group.push_back(r);
      }
      const int call = make.call(costs[below(5)], static_cast<int>(group.size()), communicators[below(3)]);
      std::vector<int> made;
      for (const int r : group) made.push_back(make.collective(r, below(streams), call, waits(r), below(30)));
      for (std::size_t i = 0; i < group.size(); ++i) tasks_of[group[i]].push_back(made[i]);
    }
  }
  make.program.end_task = static_cast<int>(random.next() % make.program.tasks.size());
  return make.program;
}

class RandomProgram : public testing::TestWithParam<int> {};

/// Bounds that hold for every schedule, read off the first step.
TEST_P(RandomProgram, ObeysEveryRuleOfTheEngine) {
  detail::SplitMix64 random(static_cast<std::uint64_t>(GetParam()) * 7919 + 1);
  const Program program = random_program(random);
  const auto run = test::first_step(program);
  std::map<std::pair<int, int>, Picoseconds> stream_free;
  std::vector<Picoseconds> cpu(static_cast<std::size_t>(program.ranks), 0);
  std::map<std::pair<int, int>, std::vector<int>> served;
  std::map<int, std::vector<int>> parts;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const Task& task = program.tasks[i];
    const Interval& at = run[i];
    ASSERT_EQ(at.task, static_cast<int>(i));
    ASSERT_LE(at.issued, at.eligible);
    ASSERT_LE(at.eligible, at.resident);
    ASSERT_LE(at.resident, at.moving);
    ASSERT_LE(at.moving, at.end);
    // The CPU issues in order, one after the other.
    const Picoseconds begins = cpu[task.rank];
    Picoseconds awaited = 0;
    for (int w = task.first_wait; w < task.first_wait + task.wait_count; ++w) {
      if (program.waits[w].steps_back == 0) awaited = std::max(awaited, run[program.waits[w].task].end);
    }
    if (task.kind == TaskKind::host_wait) {
      ASSERT_EQ(at.issued, begins);
      ASSERT_EQ(at.end, std::max(begins + task.host_time, awaited));
      cpu[task.rank] = at.end;
      continue;
    }
    cpu[task.rank] = begins + task.host_time;
    Picoseconds& free = stream_free[{task.rank, task.stream}];
    // Eligible exactly when the last of issue, stream and waits is there: no sooner and no later.
    ASSERT_EQ(at.eligible, std::max({at.issued, free, awaited}));
    free = at.end;
    if (task.kind == TaskKind::compute) {
      const WorkCost& work = program.works[task.payload];
      ASSERT_EQ(at.issued, begins + task.host_time / work.kernels);
      ASSERT_EQ(at.resident, at.eligible);
      ASSERT_GE(at.end, cpu[task.rank]);
      ASSERT_GE(at.end, at.resident + work.durations.front());
      const double slowest =
          (static_cast<double>(work.durations.back()) + 9.0 * static_cast<double>(work.memory_time)) * 20;
      ASSERT_LE(static_cast<double>(at.end),
                static_cast<double>(std::max(cpu[task.rank], at.resident)) + slowest + 2);
    } else {
      ASSERT_EQ(at.issued, cpu[task.rank]);
      served[{task.rank, program.collectives[task.payload].communicator}].push_back(static_cast<int>(i));
      parts[task.payload].push_back(static_cast<int>(i));
    }
  }
  for (const auto& [call, tasks] : parts) {
    const CollectiveCost& cost = program.collective_costs[program.collectives[call].cost];
    Picoseconds last = 0;
    for (const int t : tasks) last = std::max(last, run[t].resident);
    double fastest = cost.rate_ceiling > 0 ? cost.rate_ceiling : 1e300;
    for (const Load& load : cost.loads) {
      fastest = std::min(fastest, program.resources[load.resource].capacity / load.weight);
    }
    const double alone = cost.loads.empty() ? 0 : cost.payload / fastest * 1e12;
    for (const int t : tasks) {
      ASSERT_EQ(run[t].moving, last) << "moves when the last rank is resident";
      ASSERT_EQ(run[t].end, run[tasks.front()].end);
      ASSERT_GE(static_cast<double>(run[t].end - last), static_cast<double>(cost.latency) + alone - 1);
    }
  }
  for (const auto& [chain, tasks] : served) {
    const int at_once = program.communicators[chain.second].concurrency;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      Picoseconds turn = run[tasks[i]].eligible;
      if (i > 0) turn = std::max(turn, run[tasks[i - 1]].resident);
      std::vector<Picoseconds> ends;
      for (std::size_t j = 0; j < i; ++j) ends.push_back(run[tasks[j]].end);
      std::sort(ends.rbegin(), ends.rend());
      if (static_cast<int>(i) >= at_once) turn = std::max(turn, ends[static_cast<std::size_t>(at_once) - 1]);
      ASSERT_EQ(run[tasks[i]].resident, turn) << "I8, I11: in order, at most " << at_once << " at once";
    }
  }
  // Bytes over each resource between any two instants fit its capacity: check between all starts and ends.
  for (std::size_t r = 0; r < program.resources.size(); ++r) {
    for (const auto& [from_call, from_tasks] : parts) {
      for (const auto& [to_call, to_tasks] : parts) {
        const Picoseconds begin = run[from_tasks.front()].moving, end = run[to_tasks.front()].end;
        if (end <= begin) continue;
        double bytes = 0;
        for (const auto& [call, tasks] : parts) {
          const CollectiveCost& cost = program.collective_costs[program.collectives[call].cost];
          const Interval& at = run[tasks.front()];
          if (at.moving < begin || at.end > end) continue;
          for (const Load& load : cost.loads) {
            if (load.resource == static_cast<int>(r)) bytes += load.weight * cost.payload;
          }
        }
        const double room = program.resources[r].capacity * static_cast<double>(end - begin) * 1e-12;
        const double rounding = 2e-12 * program.resources[r].capacity * static_cast<double>(parts.size());
        ASSERT_LE(bytes, room * (1 + 1e-9) + rounding);
      }
    }
  }
}

/// Steps that follow obey the order between steps, and the run ends.
TEST_P(RandomProgram, ReachesItsLastStep) {
  detail::SplitMix64 random(static_cast<std::uint64_t>(GetParam()) * 7919 + 1);
  const Program program = random_program(random);
  const Timeline one = simulate(program), two = simulate(program);
  EXPECT_GE(one.end, one.begin);
  ASSERT_EQ(one.intervals.size(), program.tasks.size());
  for (std::size_t i = 0; i < one.intervals.size(); ++i) {
    EXPECT_EQ(one.intervals[i].end, two.intervals[i].end);
    EXPECT_EQ(one.intervals[i].eligible, two.intervals[i].eligible);
  }
}

INSTANTIATE_TEST_SUITE_P(Engine, RandomProgram, testing::Range(0, 150));

}  // namespace
}  // namespace stepcast
