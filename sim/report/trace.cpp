#include <algorithm>
#include <set>

#include "base/json.hpp"
#include "base/print.hpp"
#include "sim/collective/collective.hpp"
#include "sim/report/breakdown.hpp"
#include "sim/report/communication.hpp"

namespace stepcast {
namespace {

/// Chrome's trace event format, "X" events: microseconds, one thread per (rank, stream).
/// Source: "Trace Event Format", chromium catapult project.
class ChromeTrace {
 public:
  ChromeTrace(const StepPlan& plan, const Timeline& timeline, int gpus_per_node)
      : program_(plan.program),
        timeline_(timeline),
        analysis_(analyse_step(plan.program, timeline)),
        gpus_per_node_(gpus_per_node) {}

  std::string text() {
    find_origin();
    json_.begin_object();
    json_.member("displayTimeUnit", "ms");
    json_.key("traceEvents");
    json_.begin_array();
    write_names();
    for (const std::size_t index : tasks_by_thread()) write_task(index);
    json_.end_array();
    json_.end_object();
    return json_.text();
  }

 private:
  const Task& task(std::size_t index) const { return program_.tasks[index]; }
  int global_rank(int rank) const {
    return rank < static_cast<int>(program_.rank_of.size()) ? program_.rank_of[static_cast<std::size_t>(rank)]
                                                            : rank;
  }
  int process_of(int rank) const { return gpus_per_node_ > 0 ? global_rank(rank) / gpus_per_node_ : 0; }
  int streams() const { return static_cast<int>(program_.stream_names.size()); }
  /// The CPU's own thread comes after a rank's streams.
  int thread_of(const Task& of) const {
    return global_rank(of.rank) * (streams() + 1) + (of.kind == TaskKind::host_wait ? streams() : of.stream);
  }
  /// Where a task becomes visible: waits of the CPU when it arrives there, kernels when they are resident.
  Picoseconds start_of(std::size_t index) const {
    const Interval& interval = timeline_.intervals[index];
    return task(index).kind == TaskKind::host_wait ? std::min(interval.issued, interval.end)
                                                   : interval.resident;
  }
  double microseconds(Picoseconds time) const { return static_cast<double>(time - origin_) * 1e-6; }

  /// Time 0 is the step's first kernel. A CPU that never waits runs ahead by whole steps, so it does not
  /// count.
  void find_origin() {
    origin_ = timeline_.end;
    for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
      if (task(i).kind != TaskKind::host_wait) origin_ = std::min(origin_, start_of(i));
    }
  }
  bool before_origin(std::size_t index) const { return start_of(index) < origin_; }

  std::vector<std::size_t> tasks_by_thread() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
      if (!before_origin(i)) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const int of_a = thread_of(task(a)), of_b = thread_of(task(b));
      return of_a != of_b ? of_a < of_b : start_of(a) < start_of(b);
    });
    return order;
  }

  void write_metadata(const char* what, int process, int thread, const std::string& name) {
    json_.begin_object();
    json_.member("name", what);
    json_.member("ph", "M");
    json_.member("pid", process);
    json_.member("tid", thread);
    json_.key("args");
    json_.begin_object();
    json_.member("name", name);
    json_.end_object();
    json_.end_object();
  }

  void write_names() {
    std::set<int> processes, threads;
    for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
      if (before_origin(i)) continue;
      const Task& one = task(i);
      const int process = process_of(one.rank), thread = thread_of(one);
      if (processes.insert(process).second) {
        write_metadata("process_name", process, 0, "node " + std::to_string(process));
      }
      if (!threads.insert(thread).second) continue;
      const std::string stream = one.kind == TaskKind::host_wait
                                     ? "CPU"
                                     : program_.stream_names[static_cast<std::size_t>(one.stream)];
      write_metadata("thread_name", process, thread,
                     "GPU " + std::to_string(global_rank(one.rank)) + " " + stream + ranks_text(one.rank));
    }
  }

  /// " (of 32 alike)" for a rank that stands for a class.
  std::string ranks_text(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    const int alike = index < program_.multiplicity.size() ? program_.multiplicity[index] : 1;
    return alike > 1 ? " (of " + std::to_string(alike) + " alike)" : "";
  }

  void begin_event(const std::string& name, std::string_view category, const Task& of, Picoseconds begin,
                   Picoseconds end) {
    json_.begin_object();
    json_.member("name", name);
    json_.member("cat", category);
    json_.member("ph", "X");
    json_.member("pid", process_of(of.rank));
    json_.member("tid", thread_of(of));
    json_.member("ts", microseconds(begin));
    json_.member("dur", static_cast<double>(end - begin) * 1e-6);
    json_.key("args");
    json_.begin_object();
    if (of.micro_batch >= 0) json_.member("micro_batch", static_cast<int>(of.micro_batch));
    if (of.layer >= 0) json_.member("layer", of.layer);
  }

  void end_event() {
    json_.end_object();
    json_.end_object();
  }

  const std::string& name_of_task(const Task& of) const {
    return program_.names[static_cast<std::size_t>(of.name)];
  }

  void write_task(std::size_t index) {
    const Task& of = task(index);
    switch (of.kind) {
      case TaskKind::compute:
        write_kernels(of, timeline_.intervals[index]);
        break;
      case TaskKind::collective:
        write_collective(of, index);
        break;
      case TaskKind::host_wait:
        begin_event(name_of_task(of), name_of(of.role), of, start_of(index), timeline_.intervals[index].end);
        end_event();
        break;
    }
  }

  /// Constituent kernels share the task's interval in proportion to their times alone.
  void write_kernels(const Task& of, const Interval& interval) {
    std::string_view category = name_of(of.role);
    const auto& parts = program_.works[static_cast<std::size_t>(of.payload)].parts;
    double total = 0;
    for (const WorkCost::Part& part : parts) total += static_cast<double>(part.duration);
    if (parts.empty() || total <= 0) {
      begin_event(name_of_task(of), category, of, interval.resident, interval.end);
      end_event();
      return;
    }
    const auto length = static_cast<double>(interval.end - interval.resident);
    double done = 0;
    for (const WorkCost::Part& part : parts) {
      const auto at = [&](double share) {
        return interval.resident + static_cast<Picoseconds>(length * share / total);
      };
      const Picoseconds begin = at(done);
      done += static_cast<double>(part.duration);
      begin_event(program_.names[static_cast<std::size_t>(part.name)], category, of, begin, at(done));
      json_.member("task", name_of_task(of));
      end_event();
    }
  }

  void write_collective(const Task& of, std::size_t index) {
    const Interval& interval = timeline_.intervals[index];
    const auto& call = program_.collectives[static_cast<std::size_t>(of.payload)];
    const auto& cost = program_.collective_costs[static_cast<std::size_t>(call.cost)];
    const auto& described = program_.descriptions[static_cast<std::size_t>(cost.description)];
    begin_event(described.operation + " " + print_size(Bytes(described.bytes)), "communication", of,
                interval.resident, interval.end);
    json_.member("task", name_of_task(of));
    json_.member("group", described.group);
    json_.member("ranks", described.ranks);
    json_.member("bytes", described.bytes);
    json_.member("algorithm", described.algorithm);
    json_.member("protocol", described.protocol);
    json_.member("channels", described.channels);
    const Seconds moving = to_seconds(interval.end - interval.moving);
    if (moving > Seconds(0)) {
      const BytesPerSecond rate =
          bus_bandwidth_of(described.operation, Bytes(described.bytes), described.ranks, moving);
      json_.member("bus_bandwidth_GBps", rate.value * 1e-9);
    }
    json_.member("queued_us", static_cast<double>(interval.resident - interval.eligible) * 1e-6);
    json_.member("waits_for_ranks_us", static_cast<double>(interval.moving - interval.resident) * 1e-6);
    json_.member("exposed_us", analysis_.exposed[index].value * 1e6);
    end_event();
  }

  const Program& program_;
  const Timeline& timeline_;
  StepAnalysis analysis_;
  int gpus_per_node_;
  Picoseconds origin_{};
  JsonWriter json_;
};

}  // namespace

std::string to_chrome_trace(const StepPlan& plan, const Timeline& timeline, int gpus_per_node) {
  return ChromeTrace(plan, timeline, gpus_per_node).text();
}

}  // namespace stepcast
