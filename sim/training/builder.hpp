#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/collective/collective.hpp"
#include "sim/cost/cost.hpp"
#include "sim/engine/program.hpp"
#include "sim/training/plan.hpp"

namespace stepcast {

/// A Work that the builder keeps; equal layers share one.
struct WorkId {
  int index{};
};

/// A task to wait for. One that does not exist (a collective of one rank) is nothing to wait for.
struct TaskId {
  enum class Kind { nothing, task, previous_step } kind{Kind::nothing};
  int index{};
  [[nodiscard]] bool exists() const { return kind != Kind::nothing; }
};

/// Writes the step of one rank, in the order in which its CPU issues it, and makes a Program of it: one
/// simulated rank that stands for all (every strategy here treats all ranks alike), or with
/// PlanOptions::unfolded all of them.
///
/// Kernels of the compute stream that follow each other without an event between them become one task: what
/// is recorded with compute() is only closed by event(), wait(), another task, or a role that does not go
/// with it.
class StepBuilder {
 public:
  StepBuilder(const PlanInputs& inputs, const PlanOptions& options);

  static constexpr int compute_stream = 0;
  [[nodiscard]] int add_stream(std::string name);
  /// Groups in which each rank stands exactly once, all of one size; they make the same calls at the same
  /// time.
  [[nodiscard]] int add_communicator(std::string name, std::vector<Group> groups);
  [[nodiscard]] int group_size(int communicator) const;

  [[nodiscard]] WorkId intern(Work work);

  /// The next task is the first one of this micro-batch (Program::micro_batch_marks).
  void begin_micro_batch(int index);
  /// What follows belongs to no micro-batch.
  void end_micro_batches();

  void compute(TaskRole role, WorkId work, int layer = -1);
  /// The compute stream's next kernel waits for `task`.
  void wait(TaskId task);
  /// Closes the open run; the task after which all that was recorded so far on the compute stream is done.
  TaskId event();
  TaskId compute_on(int stream, TaskRole role, WorkId work, const std::vector<TaskId>& after,
                    std::string_view name, int layer = -1);
  /// @param payload  bytes of the full tensor, as CollectiveModel::plan counts them
  /// @return nothing to wait for when the group has one rank (I3) or nothing is sent
  TaskId collective(int stream, int communicator, Operation operation, Bytes payload,
                    const std::vector<TaskId>& after, std::string_view name, int layer = -1);
  /// The CPU blocks until `after` has ended, then works for `time`.
  void host_wait(const std::vector<TaskId>& after, Seconds time, std::string_view name);
  /// The task that closes the step before.
  [[nodiscard]] static TaskId previous_step() { return {TaskId::Kind::previous_step, 0}; }

  /// @param end  closes the step
  [[nodiscard]] Program finish(TaskId end, int repeated_micro_batches);

 private:
  using Pieces = std::vector<std::pair<int, int>>;  ///< (work, times)
  struct Recorded {
    Task task;
    int call{-1};    ///< index in calls_
    int pieces{-1};  ///< index in pieces_
  };
  struct Call {
    int communicator{};
    Operation operation{};
    Bytes payload;
    [[nodiscard]] auto key() const { return std::tuple(communicator, operation, payload.value); }
  };
  struct OpenRun {
    bool open{};
    TaskRole role{};
    int first_layer{}, last_layer{};
    Pieces pieces;
  };

  int name_index(const std::string& name);
  int pieces_index(Pieces pieces);
  int record(Recorded recorded, const std::vector<TaskId>& after);
  void close_run();
  [[nodiscard]] Picoseconds host_time_of(const Pieces& pieces) const;
  /// True when the groups of every call are in the same situation on the links, so that one can stand for
  /// all.
  [[nodiscard]] bool groups_alike(const std::vector<int>& distinct) const;
  /// Costs and calls of one recorded call: one for all groups, or one for each when unfolded.
  [[nodiscard]] int copies_of(int communicator) const;
  [[nodiscard]] std::vector<std::vector<CollectivePlan>> plan_calls(const std::vector<int>& distinct) const;
  void add_resources(Program& program, const std::vector<std::vector<CollectivePlan>>& plans,
                     const std::vector<int>& distinct) const;
  void add_levels(Program& program, const std::vector<std::vector<CollectivePlan>>& plans,
                  const std::vector<int>& distinct) const;
  void add_works(Program& program) const;
  void add_tasks(Program& program, const std::vector<int>& cost_of_call, int end) const;

  const PlanInputs& inputs_;
  PlanOptions options_;
  std::vector<std::string> streams_{"compute"};
  struct GroupSet {
    std::string name;
    std::vector<Group> groups;
  };
  std::vector<GroupSet> communicators_;
  std::vector<Work> works_;
  std::vector<Pieces> pieces_;
  std::map<Pieces, int> pieces_by_content_;
  std::vector<Call> calls_;
  std::vector<Recorded> tasks_;
  std::vector<TaskId> waits_;
  std::vector<std::string> names_;
  std::map<std::string, int, std::less<>> names_by_text_;
  std::vector<TaskId> pending_waits_;
  OpenRun run_;
  TaskId last_compute_;
  std::vector<int> marks_;
  bool mark_next_{};
  std::int32_t micro_batch_{-1};
};

/// Seconds to the clock's unit, rounded once.
[[nodiscard]] Picoseconds to_picoseconds(Seconds time);

}  // namespace stepcast
