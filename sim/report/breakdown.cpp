#include "sim/report/breakdown.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace stepcast {
namespace {

/// In the order in which an instant is claimed; `moving` claims none, it tells which collectives to charge.
enum class Claim : std::uint8_t {
  optimizer,
  compute,
  communication,
  optimizer_wait,
  bubble,
  input,
  none,
  moving
};
constexpr std::size_t claims = static_cast<std::size_t>(Claim::none);

struct Edge {
  Picoseconds at{};
  int task{};
  Claim claim{};
  bool opens{};
};

struct Window {
  Picoseconds begin{}, end{};
  [[nodiscard]] Picoseconds length() const { return end - begin; }
};

struct Parts {
  std::array<Picoseconds, claims + 1> time{};
  std::vector<Picoseconds> exposed, exposed_moving;  ///< by task
};

/// All claims of one rank on the step's window, opened and closed in order of time.
class Edges {
 public:
  explicit Edges(Window step) : step_(step) {}

  /// The step before and the step after look the same, so what sticks out on one side comes in on the other.
  void add(Picoseconds begin, Picoseconds end, int task, Claim claim) {
    if (begin >= step_.begin && end <= step_.end) {
      add_clipped(begin, end, task, claim);
      return;
    }
    const Picoseconds period = step_.length();
    for (const Picoseconds shift : {-period, Picoseconds{0}, period}) {
      add_clipped(begin + shift, end + shift, task, claim);
    }
  }

  std::vector<Edge> sorted() {
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
      if (a.at != b.at) return a.at < b.at;
      return a.task < b.task;
    });
    return std::move(edges_);
  }

 private:
  void add_clipped(Picoseconds begin, Picoseconds end, int task, Claim claim) {
    begin = std::max(begin, step_.begin);
    end = std::min(end, step_.end);
    if (begin >= end) return;
    edges_.push_back({begin, task, claim, true});
    edges_.push_back({end, task, claim, false});
  }

  Window step_;
  std::vector<Edge> edges_;
};

Claim claim_of(TaskRole role) {
  if (role == TaskRole::optimizer) return Claim::optimizer;
  if (role == TaskRole::input) return Claim::input;
  return Claim::compute;
}

/// When the GPU has done the kernels of a task. A task that ended just when its CPU had issued its last
/// kernel is bound by the CPU: its kernels take as long as alone, and what is left of its interval are the
/// gaps between them.
Picoseconds end_of_kernels(const Program& program, const Task& task, const Interval& interval) {
  const WorkCost& work = program.works[static_cast<std::size_t>(task.payload)];
  const Picoseconds first_launch = task.host_time / std::max(1, work.kernels);
  const bool cpu_bound = interval.end == interval.issued + task.host_time - first_launch;
  if (!cpu_bound || work.durations.empty()) return interval.end;
  return std::min(interval.end, interval.resident + work.durations.front());
}

std::vector<Edge> edges_of_rank(const Program& program, const Timeline& timeline, int rank, Window step) {
  Edges edges(step);
  Picoseconds optimizer_begin = 0, optimizer_end = 0;
  int optimizer_task = -1;
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    const Task& task = program.tasks[i];
    if (task.rank != rank) continue;
    const Interval& interval = timeline.intervals[i];
    const int index = static_cast<int>(i);
    switch (task.kind) {
      case TaskKind::compute:
        edges.add(interval.resident, end_of_kernels(program, task, interval), index, claim_of(task.role));
        if (task.role == TaskRole::optimizer) {
          if (optimizer_task < 0) optimizer_begin = interval.resident;
          optimizer_end = interval.end;
          optimizer_task = index;
        }
        break;
      case TaskKind::collective: {
        const auto& call = program.collectives[static_cast<std::size_t>(task.payload)];
        const auto& cost = program.collective_costs[static_cast<std::size_t>(call.cost)];
        const auto& described = program.descriptions[static_cast<std::size_t>(cost.description)];
        const bool waits_for_peer = described.operation == "send_recv";
        if (waits_for_peer) edges.add(interval.resident, interval.moving, index, Claim::bubble);
        edges.add(waits_for_peer ? interval.moving : interval.resident, interval.end, index,
                  Claim::communication);
        edges.add(interval.moving, interval.end, index, Claim::moving);
        break;
      }
      case TaskKind::host_wait:
        if (task.role == TaskRole::input) {
          edges.add(interval.eligible, interval.end, index, Claim::input);
        }
        break;
    }
  }
  if (optimizer_task >= 0) edges.add(optimizer_begin, optimizer_end, optimizer_task, Claim::optimizer_wait);
  return edges.sorted();
}

void share_exposed(Picoseconds length, const std::vector<int>& active, std::vector<Picoseconds>& exposed) {
  if (active.empty()) return;
  const auto count = static_cast<Picoseconds>(active.size());
  for (const int task : active) exposed[static_cast<std::size_t>(task)] += length / count;
  exposed[static_cast<std::size_t>(active.front())] += length % count;
}

/// Length of each claim inside `window`.
Parts sweep(const std::vector<Edge>& edges, Window window, std::size_t tasks) {
  Parts parts;
  parts.exposed.assign(tasks, 0);
  parts.exposed_moving.assign(tasks, 0);
  std::array<int, claims> open{};
  std::vector<int> active, moving;  // resident and moving collectives, in the order in which they became so
  Picoseconds now = window.begin;
  const auto advance = [&](Picoseconds to) {
    to = std::clamp(to, window.begin, window.end);
    if (to <= now) return;
    std::size_t claim = 0;
    while (claim < claims && open[claim] == 0) ++claim;
    parts.time[claim] += to - now;
    if (claim == static_cast<std::size_t>(Claim::communication)) {
      share_exposed(to - now, active, parts.exposed);
      share_exposed(to - now, moving, parts.exposed_moving);
    }
    now = to;
  };
  for (const Edge& edge : edges) {
    advance(edge.at);
    if (edge.claim != Claim::moving) open[static_cast<std::size_t>(edge.claim)] += edge.opens ? 1 : -1;
    if (edge.claim != Claim::communication && edge.claim != Claim::moving) continue;
    std::vector<int>& list = edge.claim == Claim::moving ? moving : active;
    if (edge.opens) {
      list.push_back(edge.task);
    } else {
      list.erase(std::find(list.begin(), list.end(), edge.task));
    }
  }
  advance(window.end);
  return parts;
}

/// The window between the last two marks: it stands for the repeated micro-batches.
Window repeated_window(const Program& program, const Timeline& timeline) {
  const auto& marks = program.micro_batch_marks;
  if (program.repeated_micro_batches == 0 || marks.size() < 2) return {};
  const auto start = [&](std::size_t mark) {
    return timeline.intervals[static_cast<std::size_t>(marks[mark])].resident;
  };
  return {start(marks.size() - 2), start(marks.size() - 1)};
}

int critical_rank_of(const Program& program, const Timeline& timeline) {
  std::vector<double> busy(static_cast<std::size_t>(program.ranks), 0);  // exact below 2^53 ps, two hours
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    const Task& task = program.tasks[i];
    if (task.kind != TaskKind::compute) continue;
    const Interval& interval = timeline.intervals[i];
    busy[static_cast<std::size_t>(task.rank)] +=
        repetitions(program, task) * static_cast<double>(interval.end - interval.resident);
  }
  // The lowest of equals, to the rounding of the clock: folded and unfolded runs pick the same one.
  const double longest = *std::max_element(busy.begin(), busy.end()) * (1 - 1e-9);
  return static_cast<int>(
      std::find_if(busy.begin(), busy.end(), [&](double time) { return time >= longest; }) - busy.begin());
}

}  // namespace

int repetitions(const Program& program, const Task& task) {
  const auto& marks = program.micro_batch_marks;
  if (program.repeated_micro_batches == 0 || marks.size() < 2) return 1;
  const Task& representative = program.tasks[static_cast<std::size_t>(marks[marks.size() - 2])];
  return task.micro_batch == representative.micro_batch ? 1 + program.repeated_micro_batches : 1;
}

StepAnalysis analyse_step(const Program& program, const Timeline& timeline) {
  STEPCAST_CHECK(timeline.intervals.size() == program.tasks.size(), "a timeline of another program");
  StepAnalysis analysis;
  analysis.critical_rank = critical_rank_of(program, timeline);
  const Window step{timeline.begin, timeline.end};
  const auto edges = edges_of_rank(program, timeline, analysis.critical_rank, step);
  const Parts once = sweep(edges, step, program.tasks.size());

  // The added time is step_time - (end - begin) whatever the clipped window measures, so that the parts add
  // up to it.
  const Window window = repeated_window(program, timeline);
  Parts again;
  again.exposed.assign(program.tasks.size(), 0);
  again.exposed_moving.assign(program.tasks.size(), 0);
  double scale = 0;
  if (window.length() > 0) {
    again = sweep(edges, window, program.tasks.size());
    scale = static_cast<double>(timeline.step_time - step.length()) / static_cast<double>(window.length());
  }
  const auto part = [&](Claim claim) {
    const auto i = static_cast<std::size_t>(claim);
    return to_seconds(once.time[i]) + scale * to_seconds(again.time[i]);
  };
  analysis.breakdown.optimizer = part(Claim::optimizer) + part(Claim::optimizer_wait);
  analysis.breakdown.compute = part(Claim::compute);
  analysis.breakdown.exposed_communication = part(Claim::communication);
  analysis.breakdown.pipeline_bubble = part(Claim::bubble);
  analysis.breakdown.input = part(Claim::input);
  analysis.breakdown.host = part(Claim::none);
  const auto by_task = [&](const std::vector<Picoseconds>& first, const std::vector<Picoseconds>& repeated) {
    std::vector<Seconds> times(first.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i] = to_seconds(first[i]) + scale * to_seconds(repeated[i]);
    }
    return times;
  };
  analysis.exposed = by_task(once.exposed, again.exposed);
  analysis.exposed_moving = by_task(once.exposed_moving, again.exposed_moving);
  return analysis;
}

}  // namespace stepcast
