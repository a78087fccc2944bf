#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

using Picoseconds = std::int64_t;

enum class TaskKind : std::uint8_t {
  compute,     ///< kernels on a stream; `payload` indexes Program::works
  collective,  ///< one rank's part of a collective; `payload` indexes Program::collectives
  host_wait,   ///< the issuing CPU blocks until the awaited tasks have ended (and does `host_time` of work)
};

/// What a task is for; the report's breakdown and colours follow it.
enum class TaskRole : std::uint8_t {
  forward,
  backward,
  recompute,
  copy,
  optimizer,
  communication,
  input,
  host
};

[[nodiscard]] std::string_view name_of(TaskRole role);

/// "Not before task `task` of the step `steps_back` steps earlier has ended" (0: this step, 1: the one
/// before).
struct Wait {
  int task{};
  int steps_back{};
};

/// Tasks of one rank are issued by its CPU in the order in which they stand in the program.
struct Task {
  TaskKind kind{};
  TaskRole role{};
  std::int32_t micro_batch{-1};  ///< -1: outside of micro-batches (optimizer, once per step)
  int rank{};                    ///< simulated rank
  int stream{};                  ///< of that rank; tasks of one stream run in order
  int payload{-1};
  int layer{-1};
  int name{};                      ///< index in Program::names
  Picoseconds host_time{};         ///< CPU time to issue it
  int first_wait{}, wait_count{};  ///< range in Program::waits
};

/// A compute task's cost. durations[i] belongs to Program::reserved_levels[i].
struct WorkCost {
  std::vector<Picoseconds> durations;
  int kernels{1};  ///< launched one after the other: the first runs after host_time / kernels of issuing
  Picoseconds memory_time{};  ///< part of durations[0] limited by device memory: it stretches by 1 / (1 -
                              ///< share taken)
  Picoseconds pause_time{};   ///< part of the duration that a busy host core does not stretch
  struct Part {               ///< for traces: constituent kernels, in order
    int name{};
    Picoseconds duration{};
  };
  std::vector<Part> parts;  ///< may be empty
};

/// A link class, a shared resource: identical links with identical loads are one.
struct Resource {
  double capacity{};  ///< bytes per second
  int link{};         ///< a representative link of the cluster
  int links{1};       ///< how many it stands for
};

struct Load {
  int resource{};
  double weight{};  ///< bytes over it per payload byte
};

/// What a call of a collective asks for; calls share it.
struct CollectiveCost {
  Picoseconds latency{};
  double payload{};       ///< bytes
  double rate_ceiling{};  ///< payload bytes per second, alone
  /// When the cost stands for several groups that move alike, what one of them reaches alone; 0: it is one.
  /// Fair shares are shares of that, so that folded groups yield to others as each by itself does.
  double group_rate{};
  std::vector<Load> loads;
  int sms{};
  double memory_share_per_rate{};  ///< share of the GPU's memory bandwidth per payload byte per second
  double host_share{};
  int description{};  ///< index in Program::descriptions
};

/// One call: every participating rank has one task that points here.
struct CollectiveCall {
  int cost{};
  int communicator{};
  int participants{1};
};

struct Communicator {
  int concurrency{1};  ///< NCCL 1 (facts 0.2); a Gloo group runs as many at once as it has threads
};

struct CollectiveDescription {
  std::string operation, group, algorithm, protocol;
  double bytes{};
  int channels{}, ranks{};
  bool measured{};      ///< its time follows a profile's measured points
  bool extrapolated{};  ///< the operation was measured on this fabric, but for other ranks, nodes or rates
};

/// One training step, to be repeated. No times but costs; see plan_step.
struct Program {
  int ranks{1};                           ///< simulated ranks; one per class when folded
  std::vector<int> rank_of;               ///< global rank that each simulated rank stands for
  std::vector<int> multiplicity;          ///< global ranks that each stands for
  std::vector<int> streams;               ///< number of streams of each simulated rank
  std::vector<std::string> stream_names;  ///< by stream index, the same on every rank
  std::vector<int> reserved_levels{0};    ///< SM reservations that can occur, ascending, first 0
  std::vector<Task> tasks;                ///< ranks may interleave; each rank's own order is its issue order
  std::vector<Wait> waits;
  std::vector<WorkCost> works;
  std::vector<CollectiveCost> collective_costs;
  std::vector<CollectiveCall> collectives;
  std::vector<Communicator> communicators;
  std::vector<Resource> resources;
  /// Traffic that never ends and never waits: another job's. Only rate_ceiling and loads count.
  std::vector<CollectiveCost> background;
  std::vector<CollectiveDescription> descriptions;
  std::vector<std::string> names;
  int end_task{};  ///< its end on the last rank closes the step (the optimizer's last task)
  /// First task (on simulated rank 0) of each planned micro-batch. With fewer planned than asked, the
  /// interval between the last two marks stands for `repeated_micro_batches` more.
  std::vector<int> micro_batch_marks;
  int repeated_micro_batches{};
};

}  // namespace stepcast
