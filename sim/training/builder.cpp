#include "sim/training/builder.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/diagnostic.hpp"

namespace stepcast {

Picoseconds to_picoseconds(Seconds time) {
  constexpr double most = 4e6;  // seconds, 46 days
  if (!(time.value < most)) throw ClockOverflow("a kernel or a launch");
  return static_cast<Picoseconds>(std::llround(time.value * 1e12));
}

StepBuilder::StepBuilder(const PlanInputs& inputs, const PlanOptions& options)
    : inputs_(inputs), options_(options) {}

int StepBuilder::add_stream(std::string name) {
  streams_.push_back(std::move(name));
  return static_cast<int>(streams_.size()) - 1;
}

int StepBuilder::add_communicator(std::string name, std::vector<Group> groups) {
  STEPCAST_CHECK(!groups.empty(), "a communicator without ranks");
  communicators_.push_back({std::move(name), std::move(groups)});
  return static_cast<int>(communicators_.size()) - 1;
}

int StepBuilder::group_size(int communicator) const {
  return static_cast<int>(communicators_[static_cast<std::size_t>(communicator)].groups.front().ranks.size());
}

WorkId StepBuilder::intern(Work work) {
  works_.push_back(std::move(work));
  return {static_cast<int>(works_.size()) - 1};
}

void StepBuilder::begin_micro_batch(int index) {
  close_run();
  micro_batch_ = index;
  mark_next_ = true;
}

void StepBuilder::end_micro_batches() {
  close_run();
  micro_batch_ = -1;
  mark_next_ = false;
}

namespace {

/// The role of a run that kernels of both roles form; nothing when they do not go together.
std::optional<TaskRole> joined(TaskRole open, TaskRole next) {
  using enum TaskRole;
  if (open == next) return open;
  const bool backward_like = open == backward || open == recompute;
  if (next == copy && (backward_like || open == forward)) return open;
  if (open == copy && (next == backward || next == forward)) return next;
  if (backward_like && (next == backward || next == recompute)) return backward;
  return std::nullopt;
}

}  // namespace

void StepBuilder::compute(TaskRole role, WorkId work, int layer) {
  const Work& content = works_[static_cast<std::size_t>(work.index)];
  if (content.kernels.empty() && content.host_time.value <= 0) return;
  if (run_.open) {
    // A trace wants each layer and role for itself.
    const auto both = options_.detailed && (run_.role != role || run_.last_layer != layer)
                          ? std::nullopt
                          : joined(run_.role, role);
    if (both) {
      run_.role = *both;
    } else {
      close_run();
    }
  }
  if (!run_.open) run_ = {true, role, layer, layer, {}};
  run_.last_layer = layer;
  if (!run_.pieces.empty() && run_.pieces.back().first == work.index) {
    ++run_.pieces.back().second;
  } else {
    run_.pieces.emplace_back(work.index, 1);
  }
}

void StepBuilder::wait(TaskId task) {
  if (!task.exists()) return;
  close_run();
  pending_waits_.push_back(task);
}

TaskId StepBuilder::event() {
  close_run();
  return last_compute_;
}

void StepBuilder::close_run() {
  if (!run_.open) return;
  OpenRun run = std::move(run_);
  run_ = {};
  std::string name(name_of(run.role));
  if (run.first_layer >= 0 && run.first_layer == run.last_layer) {
    name += " " + inputs_.model.layers[static_cast<std::size_t>(run.first_layer)].name;
  }
  Recorded recorded;
  recorded.task.kind = TaskKind::compute;
  recorded.task.role = run.role;
  recorded.task.stream = compute_stream;
  recorded.task.layer = run.first_layer == run.last_layer ? run.first_layer : -1;
  recorded.task.name = name_index(name);
  recorded.task.host_time = host_time_of(run.pieces);
  recorded.pieces = pieces_index(std::move(run.pieces));
  const std::vector<TaskId> after = std::exchange(pending_waits_, {});
  last_compute_ = {TaskId::Kind::task, record(recorded, after)};
}

TaskId StepBuilder::compute_on(int stream, TaskRole role, WorkId work, const std::vector<TaskId>& after,
                               std::string_view name, int layer) {
  close_run();
  const Pieces pieces{{work.index, 1}};
  Recorded recorded;
  recorded.task.kind = TaskKind::compute;
  recorded.task.role = role;
  recorded.task.stream = stream;
  recorded.task.layer = layer;
  recorded.task.name = name_index(std::string(name));
  recorded.task.host_time = host_time_of(pieces);
  recorded.pieces = pieces_index(pieces);
  return {TaskId::Kind::task, record(recorded, after)};
}

TaskId StepBuilder::collective(int stream, int communicator, Operation operation, Bytes payload,
                               const std::vector<TaskId>& after, std::string_view name, int layer) {
  if (group_size(communicator) == 1 || payload.value <= 0) return {};
  close_run();
  Recorded recorded;
  recorded.task.kind = TaskKind::collective;
  recorded.task.role = TaskRole::communication;
  recorded.task.stream = stream;
  recorded.task.layer = layer;
  recorded.task.name = name_index(std::string(name));
  recorded.task.host_time = to_picoseconds(inputs_.profile.software.host_per_collective.value);
  recorded.call = static_cast<int>(calls_.size());
  calls_.push_back({communicator, operation, payload});
  return {TaskId::Kind::task, record(recorded, after)};
}

void StepBuilder::host_wait(const std::vector<TaskId>& after, Seconds time, std::string_view name) {
  const bool nothing = std::none_of(after.begin(), after.end(), [](TaskId task) { return task.exists(); });
  if (nothing && time.value <= 0) return;
  close_run();
  Recorded recorded;
  recorded.task.kind = TaskKind::host_wait;
  recorded.task.role = TaskRole::host;
  recorded.task.stream = compute_stream;
  recorded.task.name = name_index(std::string(name));
  recorded.task.host_time = to_picoseconds(time);
  record(recorded, after);
}

int StepBuilder::record(Recorded recorded, const std::vector<TaskId>& after) {
  recorded.task.micro_batch = micro_batch_;
  recorded.task.first_wait = static_cast<int>(waits_.size());
  for (const TaskId task : after) {
    if (task.exists()) waits_.push_back(task);
  }
  recorded.task.wait_count = static_cast<int>(waits_.size()) - recorded.task.first_wait;
  const int index = static_cast<int>(tasks_.size());
  if (std::exchange(mark_next_, false)) marks_.push_back(index);
  tasks_.push_back(recorded);
  return index;
}

int StepBuilder::name_index(const std::string& name) {
  const auto [place, added] = names_by_text_.try_emplace(name, static_cast<int>(names_.size()));
  if (added) names_.push_back(name);
  return place->second;
}

int StepBuilder::pieces_index(Pieces pieces) {
  const auto [place, added] = pieces_by_content_.try_emplace(pieces, static_cast<int>(pieces_.size()));
  if (added) pieces_.push_back(std::move(pieces));
  return place->second;
}

Picoseconds StepBuilder::host_time_of(const Pieces& pieces) const {
  double seconds = 0;
  for (const auto& [work, times] : pieces) {
    seconds += times * works_[static_cast<std::size_t>(work)].host_time.value;
  }
  return to_picoseconds(Seconds(seconds));
}

}  // namespace stepcast
