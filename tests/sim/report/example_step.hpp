#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/program.hpp"
#include "sim/engine/simulate.hpp"

namespace stepcast {

/// A program and its timeline written by hand, in microseconds: what the engine would return for one rank.
class ExampleStep {
 public:
  ExampleStep() {
    program.streams = {2};
    program.stream_names = {"compute", "communication"};
    program.rank_of = {0};
    program.multiplicity = {1};
    program.names = {"task", "kernel"};
    program.communicators = {{}};
    program.works.push_back({});
    timeline.steady = true;
    timeline.micro_batches_agree = true;
  }

  int kernel(TaskRole role, double begin, double end, int micro_batch = 0, int rank = 0) {
    return add(TaskKind::compute, role, {begin, begin, begin, begin, end}, 0, 0, micro_batch, rank);
  }

  /// resident from `resident`, moving from `moving`; loads resource 0 with `weight` when there is one.
  int collective(const std::string& operation, double bytes, double resident, double moving, double end,
                 int micro_batch = 0, double latency = 0, std::vector<Load> loads = {}) {
    CollectiveDescription described;
    described.operation = operation;
    described.group = "data parallel";
    described.algorithm = "ring";
    described.protocol = "simple";
    described.bytes = bytes;
    described.ranks = 4;
    described.channels = 8;
    program.descriptions.push_back(described);
    CollectiveCost cost;
    cost.latency = picoseconds(latency);
    cost.payload = bytes;
    cost.loads = std::move(loads);
    cost.description = static_cast<int>(program.descriptions.size()) - 1;
    program.collective_costs.push_back(cost);
    program.collectives.push_back({static_cast<int>(program.collective_costs.size()) - 1, 0, 1});
    return add(TaskKind::collective, TaskRole::communication, {resident, resident, resident, moving, end}, 1,
               static_cast<int>(program.collectives.size()) - 1, micro_batch, 0);
  }

  int host_wait(TaskRole role, double begin, double end) {
    return add(TaskKind::host_wait, role, {begin, begin, begin, begin, end}, 0, -1, 0, 0);
  }

  void window(double begin, double end) {
    timeline.begin = picoseconds(begin);
    timeline.end = picoseconds(end);
    timeline.step_time = timeline.end - timeline.begin;
  }

  /// The window between these tasks' starts stands for `times` more micro-batches.
  void repeat(int first_mark, int second_mark, int times) {
    program.micro_batch_marks = {first_mark, second_mark};
    program.repeated_micro_batches = times;
    const auto start = [&](int task) { return timeline.intervals[static_cast<std::size_t>(task)].resident; };
    timeline.micro_batch_interval = start(second_mark) - start(first_mark);
    timeline.step_time += times * timeline.micro_batch_interval;
  }

  static Picoseconds picoseconds(double microseconds) { return static_cast<Picoseconds>(microseconds * 1e6); }

  Program program;
  Timeline timeline;

 private:
  struct Times {
    double issued, eligible, resident, moving, end;
  };

  int add(TaskKind kind, TaskRole role, Times times, int stream, int payload, int micro_batch, int rank) {
    Task task;
    task.kind = kind;
    task.role = role;
    task.stream = stream;
    task.payload = payload;
    task.rank = rank;
    task.micro_batch = static_cast<std::int16_t>(micro_batch);
    program.ranks = std::max(program.ranks, rank + 1);
    program.tasks.push_back(task);
    const int index = static_cast<int>(program.tasks.size()) - 1;
    timeline.intervals.push_back({index, picoseconds(times.issued), picoseconds(times.eligible),
                                  picoseconds(times.resident), picoseconds(times.moving),
                                  picoseconds(times.end)});
    return index;
  }
};

}  // namespace stepcast
