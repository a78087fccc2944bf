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
#include "sim/training/rank_folding.hpp"

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
/// simulated rank for each class of ranks that are alike (rank_folding: one, when GPUs and links are), or
/// with PlanOptions::unfolded all of them.
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

  /// @param end          closes the step
  /// @param other_kinds  the same step as other kinds of GPUs run it (PlanInputs::kinds from 1 on);
  /// same_tasks
  [[nodiscard]] Program finish(TaskId end, int repeated_micro_batches,
                               const std::vector<const StepBuilder*>& other_kinds = {});
  /// True when both have recorded the same tasks in the same order, whatever their kernels cost.
  [[nodiscard]] bool same_tasks(const StepBuilder& other) const;

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
  [[nodiscard]] std::vector<int> kind_of_rank() const;
  [[nodiscard]] RankFolding fold(const std::vector<int>& distinct) const;
  /// Plans by communicator, group and distinct call.
  [[nodiscard]] std::vector<std::vector<std::vector<CollectivePlan>>> calls_of_groups(
      const std::vector<int>& distinct) const;
  /// Numbers the situations of the groups: how their calls run, and on what links, whoever else loads those.
  void find_situations(const std::vector<std::vector<std::vector<CollectivePlan>>>& calls,
                       const RankFolding& folding, std::vector<GroupsToFold>& sets) const;
  [[nodiscard]] std::size_t classes_of_groups(int communicator) const;
  /// By distinct call and class of groups: all groups of a class move together.
  [[nodiscard]] std::vector<std::vector<CollectivePlan>> plan_calls(const std::vector<int>& distinct) const;
  /// Payload bytes per second on idle links.
  [[nodiscard]] double rate_alone(const CollectivePlan& plan) const;
  void add_resources(Program& program, const std::vector<std::vector<CollectivePlan>>& plans,
                     const std::vector<int>& distinct) const;
  void add_levels(Program& program, const std::vector<std::vector<CollectivePlan>>& plans,
                  const std::vector<int>& distinct) const;
  void add_works(Program& program) const;
  void add_works_of_kind(Program& program, double speed,
                         std::map<std::string, int, std::less<>>& part_names) const;
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
  // While a program is made:
  RankFolding folding_;
  std::vector<const StepBuilder*> kinds_;
};

/// Seconds to the clock's unit, rounded once.
[[nodiscard]] Picoseconds to_picoseconds(Seconds time);

}  // namespace stepcast
