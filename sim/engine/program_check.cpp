#include "sim/engine/program_check.hpp"

#include <cmath>
#include <string>

#include "base/diagnostic.hpp"
#include "sim/engine/detail/rows.hpp"

namespace stepcast {
namespace {

std::string at(const char* what, std::size_t index, const char* fault) {
  return std::string(what) + " " + std::to_string(index) + ": " + fault;
}

template <class Items>
bool in(int index, const Items& items) {
  return index >= 0 && index < static_cast<int>(items.size());
}

bool not_negative(double value) { return value >= 0 && std::isfinite(value); }

void check_sizes(const Program& p) {
  STEPCAST_CHECK(p.ranks >= 1, "a program needs a rank");
  const auto ranks = static_cast<std::size_t>(p.ranks);
  STEPCAST_CHECK(p.streams.size() == ranks, "Program::streams: one entry a rank");
  STEPCAST_CHECK(p.multiplicity.empty() || p.multiplicity.size() == ranks,
                 "Program::multiplicity: one entry a rank");
  STEPCAST_CHECK(p.rank_of.empty() || p.rank_of.size() == ranks, "Program::rank_of: one entry a rank");
  for (const int streams : p.streams) STEPCAST_CHECK(streams >= 0, "negative number of streams");
  for (const int k : p.multiplicity) STEPCAST_CHECK(k >= 1, "a class of no ranks");
  STEPCAST_CHECK(!p.reserved_levels.empty() && p.reserved_levels.front() == 0,
                 "Program::reserved_levels begin with 0");
  for (std::size_t i = 1; i < p.reserved_levels.size(); ++i) {
    STEPCAST_CHECK(p.reserved_levels[i] > p.reserved_levels[i - 1], "Program::reserved_levels must ascend");
  }
  STEPCAST_CHECK(in(p.end_task, p.tasks), "Program::end_task is no task");
  STEPCAST_CHECK(p.repeated_micro_batches >= 0, "negative repeated_micro_batches");
  STEPCAST_CHECK(p.repeated_micro_batches == 0 || p.micro_batch_marks.size() >= 2,
                 "repeated micro-batches need two marks to measure between");
  for (const int mark : p.micro_batch_marks)
    STEPCAST_CHECK(in(mark, p.tasks), "a micro-batch mark is no task");
}

void check_cost(const Program& p, const CollectiveCost& cost, const char* what, std::size_t i) {
  STEPCAST_CHECK(cost.latency >= 0, at(what, i, "negative latency"));
  STEPCAST_CHECK(not_negative(cost.payload), at(what, i, "payload is negative or not finite"));
  STEPCAST_CHECK(!std::isnan(cost.rate_ceiling), at(what, i, "rate ceiling is not a number"));
  STEPCAST_CHECK(not_negative(cost.group_rate), at(what, i, "group rate is negative or not finite"));
  STEPCAST_CHECK(cost.sms >= 0, at(what, i, "negative SMs"));
  STEPCAST_CHECK(not_negative(cost.memory_share_per_rate) && not_negative(cost.host_share),
                 at(what, i, "a share is negative or not finite"));
  for (const Load& load : cost.loads) {
    STEPCAST_CHECK(in(load.resource, p.resources), at(what, i, "loads an unknown resource"));
    STEPCAST_CHECK(not_negative(load.weight), at(what, i, "a weight is negative or not finite"));
  }
}

void check_costs(const Program& p) {
  for (std::size_t i = 0; i < p.works.size(); ++i) {
    const WorkCost& work = p.works[i];
    STEPCAST_CHECK(!work.durations.empty() && work.durations.size() <= p.reserved_levels.size(),
                   at("work", i, "durations and reserved levels differ in number"));
    for (const Picoseconds d : work.durations) STEPCAST_CHECK(d >= 0, at("work", i, "negative duration"));
    STEPCAST_CHECK(work.memory_time >= 0, at("work", i, "negative memory time"));
    STEPCAST_CHECK(work.kernels >= 1, at("work", i, "no kernels"));
  }
  for (std::size_t i = 0; i < p.resources.size(); ++i) {
    STEPCAST_CHECK(p.resources[i].capacity > 0 && std::isfinite(p.resources[i].capacity),
                   at("resource", i, "its capacity must be positive"));
  }
  for (std::size_t i = 0; i < p.collective_costs.size(); ++i)
    check_cost(p, p.collective_costs[i], "collective cost", i);
  for (std::size_t i = 0; i < p.background.size(); ++i) check_cost(p, p.background[i], "background", i);
  for (std::size_t i = 0; i < p.communicators.size(); ++i) {
    STEPCAST_CHECK(p.communicators[i].concurrency >= 1, at("communicator", i, "serves no call"));
  }
}

void check_tasks(const Program& p) {
  std::vector<int> parts(p.collectives.size(), 0);
  for (std::size_t i = 0; i < p.tasks.size(); ++i) {
    const Task& task = p.tasks[i];
    STEPCAST_CHECK(task.rank >= 0 && task.rank < p.ranks, at("task", i, "unknown rank"));
    STEPCAST_CHECK(task.host_time >= 0, at("task", i, "negative host time"));
    STEPCAST_CHECK(
        task.kind == TaskKind::host_wait || (task.stream >= 0 && task.stream < p.streams[task.rank]),
        at("task", i, "unknown stream"));
    STEPCAST_CHECK(task.kind != TaskKind::compute || in(task.payload, p.works),
                   at("task", i, "unknown work"));
    STEPCAST_CHECK(
        task.wait_count >= 0 && task.first_wait >= 0 &&
            static_cast<std::size_t>(task.first_wait) + static_cast<std::size_t>(task.wait_count) <=
                p.waits.size(),
        at("task", i, "its waits are out of range"));
    STEPCAST_CHECK(p.names.empty() || in(task.name, p.names), at("task", i, "unknown name"));
    if (task.kind != TaskKind::collective) continue;
    STEPCAST_CHECK(in(task.payload, p.collectives), at("task", i, "unknown collective"));
    ++parts[task.payload];
  }
  for (std::size_t i = 0; i < p.waits.size(); ++i) {
    STEPCAST_CHECK(in(p.waits[i].task, p.tasks), at("wait", i, "unknown task"));
    STEPCAST_CHECK(p.waits[i].steps_back >= 0, at("wait", i, "a task cannot wait for a later step"));
  }
  for (std::size_t i = 0; i < p.collectives.size(); ++i) {
    const CollectiveCall& call = p.collectives[i];
    STEPCAST_CHECK(in(call.cost, p.collective_costs), at("collective", i, "unknown cost"));
    STEPCAST_CHECK(in(call.communicator, p.communicators), at("collective", i, "unknown communicator"));
    STEPCAST_CHECK(parts[i] == call.participants && call.participants >= 1,
                   at("collective", i, "its number of tasks is not its number of participants"));
  }
}

void check_one_task_a_rank(const Program& p) {
  const int calls = static_cast<int>(p.collectives.size());
  const detail::Rows parts = detail::group_by(calls, static_cast<int>(p.tasks.size()), [&](int t) {
    return p.tasks[t].kind == TaskKind::collective ? p.tasks[t].payload : -1;
  });
  std::vector<int> call_of_rank(static_cast<std::size_t>(p.ranks), -1);
  for (int call = 0; call < calls; ++call) {
    for (const int t : parts.row(call)) {
      int& last = call_of_rank[p.tasks[t].rank];
      STEPCAST_CHECK(last != call,
                     at("task", static_cast<std::size_t>(t), "its rank takes part in the call twice"));
      last = call;
    }
  }
}

/// Who comes before whom within a step, as edges between units: a task, or all tasks of one call together.
class Precedence {
 public:
  explicit Precedence(const Program& p) : program_(p), tasks_(static_cast<int>(p.tasks.size())) {}

  /// @param only_communicators  leave out everything but the order of calls on each rank's communicators
  [[nodiscard]] int units_in_circles(bool only_communicators, int& example) {
    const std::size_t units = static_cast<std::size_t>(tasks_) + program_.collectives.size();
    std::vector<int> before(units, 0), first(units + 1, 0);
    edges_.clear();
    collect(only_communicators);
    for (const auto& [from, to] : edges_) {
      ++before[to];
      ++first[from + 1];
    }
    for (std::size_t u = 0; u < units; ++u) first[u + 1] += first[u];
    std::vector<int> next(first.begin(), first.end() - 1), after(edges_.size());
    for (const auto& [from, to] : edges_) after[next[from]++] = to;
    std::vector<int> free;
    for (int u = 0; u < static_cast<int>(units); ++u) {
      if (before[u] == 0) free.push_back(u);
    }
    std::size_t done = 0;
    for (; done < free.size(); ++done) {
      const int u = free[done];
      for (int e = first[u]; e < first[u + 1]; ++e) {
        if (--before[after[e]] == 0) free.push_back(after[e]);
      }
    }
    for (int t = 0; t < tasks_; ++t) {
      if (before[unit(t)] > 0) {
        example = t;
        break;
      }
    }
    return static_cast<int>(units - done);
  }

 private:
  struct Edge {
    int from{}, to{};
  };

  [[nodiscard]] int unit(int t) const {
    const Task& task = program_.tasks[t];
    return task.kind == TaskKind::collective ? tasks_ + task.payload : t;
  }

  void collect(bool only_communicators) {
    const detail::Rows by_rank =
        detail::group_by(program_.ranks, tasks_, [&](int t) { return program_.tasks[t].rank; });
    std::vector<Last> on_communicator(program_.communicators.size()), on_stream;
    for (int rank = 0; rank < program_.ranks; ++rank) {
      on_stream.assign(static_cast<std::size_t>(program_.streams[rank]), {});
      int block = -1;  // the last host_wait: nothing is issued before it has ended
      for (const int t : by_rank.row(rank)) {
        const Task& task = program_.tasks[t];
        const int u = unit(t);
        if (task.kind == TaskKind::collective) {
          follow(on_communicator[program_.collectives[task.payload].communicator], rank, u);
        }
        if (only_communicators) continue;
        for (int w = task.first_wait; w < task.first_wait + task.wait_count; ++w) {
          if (program_.waits[w].steps_back == 0) edges_.push_back({unit(program_.waits[w].task), u});
        }
        if (block >= 0) edges_.push_back({block, u});
        if (task.kind == TaskKind::host_wait) {
          block = u;
        } else {
          follow(on_stream[task.stream], rank, u);
        }
      }
    }
  }

  struct Last {
    int rank{-1}, unit{};
  };
  void follow(Last& last, int rank, int u) {
    if (last.rank == rank) edges_.push_back({last.unit, u});
    last = {rank, u};
  }

  const Program& program_;
  int tasks_;
  std::vector<Edge> edges_;
};

/// When nobody shares a call and all waits point back, the order of the program is an order of execution.
bool evidently_without_circles(const Program& p) {
  for (const CollectiveCall& call : p.collectives) {
    if (call.participants > 1) return false;
  }
  for (int t = 0; t < static_cast<int>(p.tasks.size()); ++t) {
    const Task& task = p.tasks[t];
    for (int w = task.first_wait; w < task.first_wait + task.wait_count; ++w) {
      if (p.waits[w].steps_back == 0 && p.waits[w].task >= t) return false;
    }
  }
  return true;
}

void check_circles(const Program& p) {
  if (evidently_without_circles(p)) return;
  Precedence precedence(p);
  int example = 0;
  if (precedence.units_in_circles(false, example) == 0) return;
  const int waiting = example;
  STEPCAST_CHECK(precedence.units_in_circles(true, example) == 0,
                 at("task", static_cast<std::size_t>(example),
                    "its communicator's calls are issued in different orders on different ranks"));
  throw InternalError(
      __FILE__, __LINE__,
      at("task", static_cast<std::size_t>(waiting), "waits, within one step, for what waits for it"));
}

}  // namespace

void check(const Program& program) {
  check_sizes(program);
  check_costs(program);
  check_tasks(program);
  check_one_task_a_rank(program);
  check_circles(program);
}

}  // namespace stepcast
