#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/diagnostic.hpp"
#include "sim/engine/fold.hpp"
#include "sim/training/builder.hpp"

namespace stepcast {
namespace {

/// Above this many GPUs groups with unequal paths move at the pace of the slowest: every rank of them
/// simulated would take seconds. --unfolded does it nonetheless.
constexpr int largest_checked = 512;

/// What a group meets when all groups of its call move: its own figures, and of each link that it loads the
/// capacity, its own weight and everybody's.
struct Situation {
  std::array<double, 5> figures{};
  std::vector<std::array<double, 3>> links;
};

bool close(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

bool same(const Situation& a, const Situation& b) {
  if (!std::equal(a.figures.begin(), a.figures.end(), b.figures.begin(), close)) return false;
  return std::equal(
      a.links.begin(), a.links.end(), b.links.begin(), b.links.end(),
      [](const auto& x, const auto& y) { return std::equal(x.begin(), x.end(), y.begin(), close); });
}

}  // namespace

Program StepBuilder::finish(TaskId end, int repeated_micro_batches) {
  close_run();
  STEPCAST_CHECK(end.kind == TaskId::Kind::task, "a step without an end");
  // Calls that ask for the same thing share one cost.
  std::map<std::tuple<int, Operation, double>, int> seen;
  std::vector<int> distinct, cost_of_call, first_cost;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const auto [place, added] = seen.try_emplace(calls_[i].key(), static_cast<int>(distinct.size()));
    cost_of_call.push_back(place->second);
    if (added) distinct.push_back(static_cast<int>(i));
  }
  if (!options_.unfolded && !groups_alike(distinct)) options_.unfolded = true;
  int costs = 0;
  for (const int index : distinct) {
    first_cost.push_back(costs);
    costs += copies_of(calls_[static_cast<std::size_t>(index)].communicator);
  }
  for (int& cost : cost_of_call) cost = first_cost[static_cast<std::size_t>(cost)];
  Program program;
  const auto plans = plan_calls(distinct);
  add_levels(program, plans, distinct);
  add_resources(program, plans, distinct);
  add_works(program);
  add_tasks(program, cost_of_call, end.index);
  program.repeated_micro_batches = repeated_micro_batches;
  return program;
}

bool StepBuilder::groups_alike(const std::vector<int>& distinct) const {
  if (inputs_.collectives.cluster().gpu_count() > largest_checked) return true;
  for (const int index : distinct) {
    const Call& call = calls_[static_cast<std::size_t>(index)];
    const std::vector<Group>& groups = communicators_[static_cast<std::size_t>(call.communicator)].groups;
    if (groups.size() < 2) continue;
    std::map<int, double> together;
    const CollectivePlan all = inputs_.collectives.plan(call.operation, call.payload, groups);
    if (all.loads) {
      for (const LinkLoad& load : *all.loads) together[load.link] += load.weight;
    }
    std::optional<Situation> first;
    for (const Group& group : groups) {
      const CollectivePlan plan = inputs_.collectives.plan(call.operation, call.payload, {group});
      Situation situation;
      situation.figures = {plan.latency.value, plan.rate_ceiling.value, static_cast<double>(plan.sms),
                           static_cast<double>(plan.algorithm), static_cast<double>(plan.protocol)};
      if (plan.loads) {
        for (const LinkLoad& load : *plan.loads) {
          situation.links.push_back(
              {inputs_.collectives.usable_capacity(load.link).value, load.weight, together[load.link]});
        }
      }
      std::sort(situation.links.begin(), situation.links.end());
      if (!first) {
        first = std::move(situation);
      } else if (!same(*first, situation)) {
        return false;
      }
    }
  }
  return true;
}

int StepBuilder::copies_of(int communicator) const {
  return options_.unfolded
             ? static_cast<int>(communicators_[static_cast<std::size_t>(communicator)].groups.size())
             : 1;
}

std::vector<std::vector<CollectivePlan>> StepBuilder::plan_calls(const std::vector<int>& distinct) const {
  std::vector<std::vector<CollectivePlan>> plans;
  for (const int index : distinct) {
    const Call& call = calls_[static_cast<std::size_t>(index)];
    const std::vector<Group>& groups = communicators_[static_cast<std::size_t>(call.communicator)].groups;
    std::vector<CollectivePlan>& of_call = plans.emplace_back();
    if (!options_.unfolded) {
      of_call.push_back(inputs_.collectives.plan(call.operation, call.payload, groups));
      continue;
    }
    for (const Group& group : groups) {
      of_call.push_back(inputs_.collectives.plan(call.operation, call.payload, {group}));
    }
  }
  return plans;
}

void StepBuilder::add_levels(Program& program, const std::vector<std::vector<CollectivePlan>>& plans,
                             const std::vector<int>& distinct) const {
  // Calls of one communicator never overlap, so each communicator holds one of its own reservations or none.
  std::vector<std::set<int>> of_communicator(communicators_.size(), std::set<int>{0});
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    const auto communicator =
        static_cast<std::size_t>(calls_[static_cast<std::size_t>(distinct[i])].communicator);
    for (const CollectivePlan& plan : plans[i]) of_communicator[communicator].insert(plan.sms);
  }
  std::set<int> levels{0};
  for (const std::set<int>& own : of_communicator) {
    std::set<int> sums;
    for (const int level : levels) {
      for (const int sms : own) sums.insert(level + sms);
    }
    levels = std::move(sums);
  }
  program.reserved_levels.assign(levels.begin(), levels.end());
}

void StepBuilder::add_resources(Program& program, const std::vector<std::vector<CollectivePlan>>& plans,
                                const std::vector<int>& distinct) const {
  // Sizes of one algorithm share their loads, so each set of loads is folded once.
  LinkFolder folder([&](int link) { return inputs_.collectives.usable_capacity(link).value; });
  std::map<const std::vector<LinkLoad>*, std::size_t> place_of;
  for (const std::vector<CollectivePlan>& of_call : plans) {
    for (const CollectivePlan& plan : of_call) {
      if (plan.loads && place_of.try_emplace(plan.loads.get(), place_of.size()).second)
        folder.add(*plan.loads);
    }
  }
  FoldedLinks folded = folder.fold();
  program.resources = std::move(folded.resources);
  const double memory_rate = inputs_.profile.gpu.memory_rate.value.value;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Call& call = calls_[static_cast<std::size_t>(distinct[i])];
    for (const CollectivePlan& plan : plans[i]) {
      CollectiveCost& cost = program.collective_costs.emplace_back();
      cost.latency = to_picoseconds(plan.latency);
      cost.payload = call.payload.value;
      cost.rate_ceiling = plan.rate_ceiling.value;
      if (plan.loads) cost.loads = folded.loads[place_of.at(plan.loads.get())];
      cost.sms = plan.sms;
      cost.memory_share_per_rate = memory_rate > 0 ? plan.memory_per_byte / memory_rate : 0;
      cost.host_share = plan.host_share;
      cost.description = static_cast<int>(program.descriptions.size());
      CollectiveDescription& description = program.descriptions.emplace_back();
      description.operation = name_of(call.operation);
      description.group = communicators_[static_cast<std::size_t>(call.communicator)].name;
      description.algorithm = name_of(plan.algorithm);
      description.protocol = name_of(plan.protocol);
      description.bytes = call.payload.value;
      description.channels = plan.channels;
      description.ranks = group_size(call.communicator);
      description.measured = plan.measured;
      description.extrapolated = plan.extrapolated;
    }
  }
}

void StepBuilder::add_works(Program& program) const {
  const int sms = inputs_.cost.gpu().sms;
  const std::size_t level_count = program.reserved_levels.size();
  std::vector<bool> used(works_.size());
  for (const Pieces& pieces : pieces_) {
    for (const auto& [work, times] : pieces) used[static_cast<std::size_t>(work)] = true;
  }
  std::vector<std::vector<double>> seconds(works_.size());
  std::vector<double> memory(works_.size());
  for (std::size_t w = 0; w < works_.size(); ++w) {
    if (!used[w]) continue;
    for (const int level : program.reserved_levels)
      seconds[w].push_back(works_[w].duration(sms, level).value);
    memory[w] = works_[w].memory_time().value;
  }
  std::map<std::string, int, std::less<>> part_names = names_by_text_;
  program.names = names_;
  for (const Pieces& pieces : pieces_) {
    WorkCost& cost = program.works.emplace_back();
    double memory_time = 0;
    for (std::size_t level = 0; level < level_count; ++level) {
      double total = 0;
      for (const auto& [work, times] : pieces)
        total += times * seconds[static_cast<std::size_t>(work)][level];
      cost.durations.push_back(to_picoseconds(Seconds(total)));
    }
    for (const auto& [work, times] : pieces) memory_time += times * memory[static_cast<std::size_t>(work)];
    cost.memory_time = std::min(to_picoseconds(Seconds(memory_time)), cost.durations.front());
    cost.kernels = 0;
    for (const auto& [work, times] : pieces) {
      cost.kernels += times * works_[static_cast<std::size_t>(work)].kernel_count();
    }
    cost.kernels = std::max(cost.kernels, 1);
    if (!options_.detailed) continue;
    for (const auto& [work, times] : pieces) {
      for (int time = 0; time < times; ++time) {
        for (const Kernel& kernel : works_[static_cast<std::size_t>(work)].kernels) {
          const auto [place, added] =
              part_names.try_emplace(kernel.name, static_cast<int>(program.names.size()));
          if (added) program.names.push_back(kernel.name);
          cost.parts.push_back({place->second, to_picoseconds(kernel.count * kernel.time)});
        }
      }
    }
  }
}

void StepBuilder::add_tasks(Program& program, const std::vector<int>& cost_of_call, int end) const {
  const int world = inputs_.scenario.gpus();
  const int simulated = options_.unfolded ? world : 1;
  program.ranks = simulated;
  program.stream_names = streams_;
  // In an unfolded program every group is a communicator, and costs stand group by group.
  std::vector<int> first_communicator;
  std::vector<std::vector<int>> group_of_rank;
  for (const GroupSet& set : communicators_) {
    first_communicator.push_back(static_cast<int>(program.communicators.size()));
    std::vector<int>& group_of = group_of_rank.emplace_back(static_cast<std::size_t>(world), -1);
    for (std::size_t g = 0; g < set.groups.size(); ++g) {
      for (const int rank : set.groups[g].ranks)
        group_of[static_cast<std::size_t>(rank)] = static_cast<int>(g);
    }
    program.communicators.resize(program.communicators.size() + (options_.unfolded ? set.groups.size() : 1U));
  }
  std::vector<int> first_call;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const auto set = static_cast<std::size_t>(calls_[i].communicator);
    const int copies = copies_of(calls_[i].communicator);
    first_call.push_back(static_cast<int>(program.collectives.size()));
    for (int g = 0; g < copies; ++g) {
      CollectiveCall& call = program.collectives.emplace_back();
      call.cost = cost_of_call[i] + g;
      call.communicator = first_communicator[set] + g;
      call.participants = options_.unfolded ? group_size(calls_[i].communicator) : 1;
    }
  }
  const int count = static_cast<int>(tasks_.size());
  for (int rank = 0; rank < simulated; ++rank) {
    program.rank_of.push_back(rank);
    program.multiplicity.push_back(world / simulated);
    program.streams.push_back(static_cast<int>(streams_.size()));
    const int first_task = rank * count;
    const int first_wait = static_cast<int>(program.waits.size());
    for (const TaskId& wait : waits_) {
      const bool previous = wait.kind == TaskId::Kind::previous_step;
      program.waits.push_back({first_task + (previous ? end : wait.index), previous ? 1 : 0});
    }
    for (const Recorded& recorded : tasks_) {
      Task& task = program.tasks.emplace_back(recorded.task);
      task.rank = rank;
      task.first_wait += first_wait;
      if (recorded.pieces >= 0) task.payload = recorded.pieces;
      if (recorded.call < 0) continue;
      const auto call = static_cast<std::size_t>(recorded.call);
      const auto set = static_cast<std::size_t>(calls_[call].communicator);
      const int group = options_.unfolded ? group_of_rank[set][static_cast<std::size_t>(rank)] : 0;
      STEPCAST_CHECK(group >= 0, "a rank outside of every group of a communicator");
      task.payload = first_call[call] + group;
    }
  }
  program.end_task = (simulated - 1) * count + end;
  program.micro_batch_marks = marks_;
}

}  // namespace stepcast
