#pragma once

#include <vector>

#include "sim/engine/detail/rows.hpp"
#include "sim/engine/program.hpp"

namespace stepcast::detail {

/// Whoever waits for a task: `task` of the step `steps_later` steps after.
struct Successor {
  int task{};
  int steps_later{};
};

struct CompiledTask {
  TaskKind kind{};
  bool last_of_stream{};  ///< nothing follows on its stream in the same step
  int rank{};
  int stream{-1};  ///< slot over all ranks; -1 for host_wait
  int payload{};
  int chain{-1};  ///< of a collective: the queue of its communicator on its rank
  int first_successor{}, successor_count{};
  Picoseconds host_time{};
  Picoseconds
      first_launch{};  ///< CPU time until it may run: its first kernel (compute), all of it (collective)
};

struct CompiledCost {
  Picoseconds latency{};
  double payload{};
  double alone_rate{};  ///< min(ceiling, capacity / weight over its resources)
  double level_rate{};  ///< rate at level 1: the same, or of one of its groups
  int first_load{}, load_count{};
  int sms{};
  double memory_share_per_rate{}, host_share{};
  bool slows_compute{};  ///< while it moves, by memory or host share
};

struct CrossStepEdge {
  int task{};
  int producer{};
  int steps_back{};
};

/// A Program in the flat form that the engine runs: built once, read by every step.
struct Compiled {
  explicit Compiled(const Program& program);

  std::vector<CompiledTask> tasks;
  std::vector<Successor> successors;
  std::vector<int> pending;  ///< what must happen before a task begins: issue, stream predecessor, waits
  std::vector<CrossStepEdge> cross_step;
  int longest_wait{1};            ///< steps; stream order reaches one back
  Rows issue_order;               ///< tasks by rank
  std::vector<int> stream_first;  ///< first slot of each rank, and the total
  Rows chains;                    ///< collective tasks by (rank, communicator), in issue order
  std::vector<int> chain_concurrency;
  Rows call_tasks;  ///< participants by call
  /// The rank's CPU must run ahead by whole steps: it has no stream that asks for the next step, or another
  /// rank waits for the end of one of its host_waits.
  std::vector<char> eager_host;
  int levels{};
  std::vector<double> durations;                  ///< work * levels + level, ps
  std::vector<double> memory_times, pause_times;  ///< by work, ps
  std::vector<CompiledCost> costs;                ///< of the calls, then of the background
  std::vector<Load> loads;
};

}  // namespace stepcast::detail
