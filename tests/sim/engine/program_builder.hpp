#pragma once

#include <utility>
#include <vector>

#include "sim/engine/program.hpp"
#include "sim/engine/simulate.hpp"

namespace stepcast::test {

/// Writes small programs by hand. Times are picoseconds; link rates are easiest as bytes per picosecond.
class ProgramBuilder {
 public:
  Program program;

  explicit ProgramBuilder(int ranks = 1, int streams = 2) {
    program.ranks = ranks;
    program.streams.assign(static_cast<std::size_t>(ranks), streams);
    program.communicators.push_back({});
  }

  static constexpr double bytes_per_ps = 1e12;

  int work(std::vector<Picoseconds> durations, Picoseconds memory_time = 0, int kernels = 1) {
    WorkCost cost;
    cost.durations = std::move(durations);
    cost.memory_time = memory_time;
    cost.kernels = kernels;
    program.works.push_back(std::move(cost));
    return static_cast<int>(program.works.size()) - 1;
  }

  int compute(int rank, int stream, int work, std::vector<Wait> waits = {}, Picoseconds host_time = 0) {
    return task(TaskKind::compute, rank, stream, work, std::move(waits), host_time);
  }
  int host_wait(int rank, std::vector<Wait> waits, Picoseconds host_time = 0) {
    return task(TaskKind::host_wait, rank, 0, -1, std::move(waits), host_time);
  }
  int collective(int rank, int stream, int call, std::vector<Wait> waits = {}, Picoseconds host_time = 0) {
    return task(TaskKind::collective, rank, stream, call, std::move(waits), host_time);
  }

  int resource(double capacity, int links = 1) {
    program.resources.push_back({capacity, static_cast<int>(program.resources.size()), links});
    return static_cast<int>(program.resources.size()) - 1;
  }
  int cost(Picoseconds latency, double payload, std::vector<Load> loads, double ceiling = 0, int sms = 0) {
    CollectiveCost made;
    made.latency = latency;
    made.payload = payload;
    made.loads = std::move(loads);
    made.rate_ceiling = ceiling;
    made.sms = sms;
    program.collective_costs.push_back(std::move(made));
    return static_cast<int>(program.collective_costs.size()) - 1;
  }
  int communicator(int concurrency = 1) {
    program.communicators.push_back({concurrency});
    return static_cast<int>(program.communicators.size()) - 1;
  }
  int call(int cost, int participants = 1, int communicator = 0) {
    program.collectives.push_back({cost, communicator, participants});
    return static_cast<int>(program.collectives.size()) - 1;
  }

 private:
  int task(TaskKind kind, int rank, int stream, int payload, std::vector<Wait> waits, Picoseconds host_time) {
    Task made;
    made.kind = kind;
    made.rank = rank;
    made.stream = stream;
    made.payload = payload;
    made.host_time = host_time;
    made.first_wait = static_cast<int>(program.waits.size());
    made.wait_count = static_cast<int>(waits.size());
    program.waits.insert(program.waits.end(), waits.begin(), waits.end());
    program.tasks.push_back(made);
    program.end_task = static_cast<int>(program.tasks.size()) - 1;
    return program.end_task;
  }
};

/// The first step alone: times count from 0 and are easy to work out by hand. Every CPU waits at the end for
/// all tasks, so that nothing of the second step comes in between.
inline std::vector<Interval> first_step(Program program) {
  const int count = static_cast<int>(program.tasks.size());
  const int first_wait = static_cast<int>(program.waits.size());
  for (int t = 0; t < count; ++t) program.waits.push_back({t, 0});
  for (int rank = 0; rank < program.ranks; ++rank) {
    Task barrier;
    barrier.kind = TaskKind::host_wait;
    barrier.rank = rank;
    barrier.first_wait = first_wait;
    barrier.wait_count = count;
    program.tasks.push_back(barrier);
  }
  SimulateOptions options;
  options.maximum_steps = 1;
  std::vector<Interval> intervals = simulate(program, options).intervals;
  intervals.resize(static_cast<std::size_t>(count));
  return intervals;
}

}  // namespace stepcast::test
