#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "base/diagnostic.hpp"
#include "base/hash.hpp"
#include "sim/engine/fold.hpp"
#include "sim/training/builder.hpp"

namespace stepcast {
namespace {

/// Beyond so many classes of ranks a step would take seconds: then equal GPUs are one class, whatever their
/// groups meet, and move at the pace of the slowest group. Unfolded runs simulate every rank nonetheless.
constexpr int most_classes = 512;

std::uint64_t joined(std::uint64_t a, std::uint64_t b) { return splitmix64(a ^ splitmix64(b)); }

/// To nine digits, so that sums in another order are the same.
std::uint64_t rounded(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return joined(static_cast<std::uint64_t>(std::llround(mantissa * (1U << 30U))),
                static_cast<std::uint64_t>(exponent));
}

}  // namespace

Program StepBuilder::finish(TaskId end, int repeated_micro_batches,
                            const std::vector<const StepBuilder*>& other_kinds) {
  close_run();
  STEPCAST_CHECK(end.kind == TaskId::Kind::task, "a step without an end");
  kinds_.assign(1, this);
  kinds_.insert(kinds_.end(), other_kinds.begin(), other_kinds.end());
  // Calls that ask for the same thing share one cost.
  std::map<std::tuple<int, Operation, double>, int> seen;
  std::vector<int> distinct, cost_of_call, first_cost;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const auto [place, added] = seen.try_emplace(calls_[i].key(), static_cast<int>(distinct.size()));
    cost_of_call.push_back(place->second);
    if (added) distinct.push_back(static_cast<int>(i));
  }
  folding_ = fold(distinct);
  int costs = 0;
  for (const int index : distinct) {
    first_cost.push_back(costs);
    costs += static_cast<int>(classes_of_groups(calls_[static_cast<std::size_t>(index)].communicator));
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

std::size_t StepBuilder::classes_of_groups(int communicator) const {
  return folding_.first_group[static_cast<std::size_t>(communicator)].size();
}

std::vector<int> StepBuilder::kind_of_rank() const {
  const auto world = static_cast<std::size_t>(inputs_.scenario.gpus());
  return inputs_.kind_of_rank.empty() ? std::vector<int>(world, 0) : inputs_.kind_of_rank;
}

RankFolding StepBuilder::fold(const std::vector<int>& distinct) const {
  std::vector<int> kind = kind_of_rank();
  std::vector<GroupsToFold> sets;
  bool one_group_each = true;
  for (const GroupSet& set : communicators_) {
    GroupsToFold& made = sets.emplace_back();
    for (const Group& group : set.groups) made.ranks.push_back(group.ranks);
    made.situation.assign(set.groups.size(), 0);
    one_group_each = one_group_each && set.groups.size() == 1;
  }
  if (options_.unfolded) {
    for (std::size_t rank = 0; rank < kind.size(); ++rank) kind[rank] = static_cast<int>(rank);
    return fold_ranks(kind, sets);
  }
  const RankFolding by_kind = fold_ranks(kind, sets);
  if (one_group_each) return by_kind;
  RankFolding folding = by_kind;
  const auto calls = calls_of_groups(distinct);
  for (std::size_t classes = 0; classes != folding.first_rank.size();) {
    classes = folding.first_rank.size();
    find_situations(calls, folding, sets);
    folding = fold_ranks(kind, sets);
    if (static_cast<int>(folding.first_rank.size()) > most_classes) return by_kind;
  }
  return folding;
}

std::vector<std::vector<std::vector<CollectivePlan>>> StepBuilder::calls_of_groups(
    const std::vector<int>& distinct) const {
  std::vector<std::vector<std::vector<CollectivePlan>>> calls(communicators_.size());
  for (const int index : distinct) {
    const Call& call = calls_[static_cast<std::size_t>(index)];
    const auto set = static_cast<std::size_t>(call.communicator);
    calls[set].resize(communicators_[set].groups.size());
    for (std::size_t g = 0; g < calls[set].size(); ++g)
      calls[set][g].push_back(
          inputs_.collectives.plan(call.operation, call.payload, {communicators_[set].groups[g]}));
  }
  return calls;
}

void StepBuilder::find_situations(const std::vector<std::vector<std::vector<CollectivePlan>>>& calls,
                                  const RankFolding& folding, std::vector<GroupsToFold>& sets) const {
  // A link is what it carries for whom; calls of one group with the same loads count once.
  const Cluster& cluster = inputs_.collectives.cluster();
  std::vector<std::uint64_t> link_key(cluster.links().size());
  for (std::size_t flow = 0; flow < cluster.background_flows().size(); ++flow) {
    for (const FlowShare& way : cluster.background_flows()[flow].links)
      link_key[static_cast<std::size_t>(way.link)] += joined(~flow, rounded(way.share));
  }
  for (std::size_t set = 0; set < calls.size(); ++set) {
    for (std::size_t g = 0; g < calls[set].size(); ++g) {
      const auto of_group = joined(set, static_cast<std::uint64_t>(folding.class_of_group[set][g]));
      std::set<const std::vector<LinkLoad>*> counted;
      for (const CollectivePlan& plan : calls[set][g]) {
        if (!counted.insert(plan.loads.get()).second) continue;
        for (const LinkLoad& load : *plan.loads)
          link_key[static_cast<std::size_t>(load.link)] += joined(of_group, rounded(load.weight));
      }
    }
  }
  for (std::size_t set = 0; set < calls.size(); ++set) {
    std::map<std::uint64_t, int> known;
    for (std::size_t g = 0; g < calls[set].size(); ++g) {
      auto situation = static_cast<std::uint64_t>(sets[set].situation[g]);
      for (const CollectivePlan& plan : calls[set][g]) {
        std::uint64_t links = 0;
        for (const LinkLoad& load : *plan.loads) {
          const std::uint64_t link = joined(link_key[static_cast<std::size_t>(load.link)],
                                            rounded(inputs_.collectives.usable_capacity(load.link).value));
          links += joined(link, rounded(load.weight));
        }
        for (const std::uint64_t part :
             {links, rounded(plan.latency.value), rounded(plan.rate_ceiling.value),
              static_cast<std::uint64_t>(plan.sms), static_cast<std::uint64_t>(plan.algorithm),
              static_cast<std::uint64_t>(plan.protocol)})
          situation = joined(situation, part);
      }
      sets[set].situation[g] = known.try_emplace(situation, static_cast<int>(known.size())).first->second;
    }
  }
}

double StepBuilder::rate_alone(const CollectivePlan& plan) const {
  double rate = plan.rate_ceiling.value;
  for (const LinkLoad& load : *plan.loads)
    rate = std::min(rate, inputs_.collectives.usable_capacity(load.link).value / load.weight);
  return rate;
}

std::vector<std::vector<CollectivePlan>> StepBuilder::plan_calls(const std::vector<int>& distinct) const {
  std::vector<std::vector<CollectivePlan>> plans;
  for (const int index : distinct) {
    const Call& call = calls_[static_cast<std::size_t>(index)];
    const auto set = static_cast<std::size_t>(call.communicator);
    const std::vector<Group>& groups = communicators_[set].groups;
    std::vector<std::vector<Group>> by_class(classes_of_groups(call.communicator));
    for (std::size_t g = 0; g < groups.size(); ++g)
      by_class[static_cast<std::size_t>(folding_.class_of_group[set][g])].push_back(groups[g]);
    std::vector<CollectivePlan>& of_call = plans.emplace_back();
    for (const auto& alike : by_class)
      of_call.push_back(inputs_.collectives.plan(call.operation, call.payload, alike));
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
  const auto background = inputs_.collectives.cluster().background_flows();
  for (const BackgroundFlow& flow : background) {
    std::vector<LinkLoad> loads;
    for (const FlowShare& way : flow.links) loads.push_back({way.link, way.share});
    folder.add(loads);
  }
  FoldedLinks folded = folder.fold();
  program.resources = std::move(folded.resources);
  for (std::size_t i = 0; i < background.size(); ++i) {
    CollectiveCost& cost = program.background.emplace_back();
    cost.rate_ceiling = background[i].rate ? background[i].rate->value : 0;
    cost.loads = folded.loads[place_of.size() + i];
  }
  const double memory_rate = inputs_.profile.gpu.memory_rate.value.value;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Call& call = calls_[static_cast<std::size_t>(distinct[i])];
    const auto set = static_cast<std::size_t>(call.communicator);
    for (std::size_t alike = 0; alike < plans[i].size(); ++alike) {
      const CollectivePlan& plan = plans[i][alike];
      CollectiveCost& cost = program.collective_costs.emplace_back();
      cost.latency = to_picoseconds(plan.latency);
      cost.payload = call.payload.value;
      cost.rate_ceiling = plan.rate_ceiling.value;
      if (folding_.groups_in(set, alike) > 1) {
        const auto first = static_cast<std::size_t>(folding_.first_group[set][alike]);
        cost.group_rate = rate_alone(
            inputs_.collectives.plan(call.operation, call.payload, {communicators_[set].groups[first]}));
      }
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
  program.names = names_;
  std::map<std::string, int, std::less<>> part_names = names_by_text_;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
    kinds_[kind]->add_works_of_kind(program, inputs_.speed_of_kind(kind), part_names);
}

void StepBuilder::add_works_of_kind(Program& program, double speed,
                                    std::map<std::string, int, std::less<>>& part_names) const {
  const int sms = inputs_.cost.gpu().sms;
  const std::size_t level_count = program.reserved_levels.size();
  std::vector<bool> used(works_.size());
  for (const Pieces& pieces : pieces_) {
    for (const auto& [work, times] : pieces) used[static_cast<std::size_t>(work)] = true;
  }
  std::vector<std::vector<double>> seconds(works_.size());
  std::vector<double> memory(works_.size()), pauses(works_.size());
  for (std::size_t w = 0; w < works_.size(); ++w) {
    if (!used[w]) continue;
    for (const int level : program.reserved_levels)
      seconds[w].push_back(works_[w].duration(sms, level).value / speed);
    memory[w] = works_[w].memory_time().value / speed;
    pauses[w] = works_[w].pause_time().value / speed;
  }
  for (const Pieces& pieces : pieces_) {
    WorkCost& cost = program.works.emplace_back();
    double memory_time = 0, pause_time = 0;
    for (std::size_t level = 0; level < level_count; ++level) {
      double total = 0;
      for (const auto& [work, times] : pieces)
        total += times * seconds[static_cast<std::size_t>(work)][level];
      cost.durations.push_back(to_picoseconds(Seconds(total)));
    }
    for (const auto& [work, times] : pieces) {
      memory_time += times * memory[static_cast<std::size_t>(work)];
      pause_time += times * pauses[static_cast<std::size_t>(work)];
    }
    cost.memory_time = std::min(to_picoseconds(Seconds(memory_time)), cost.durations.front());
    cost.pause_time = std::min(to_picoseconds(Seconds(pause_time)), cost.durations.front());
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
          cost.parts.push_back({place->second, to_picoseconds(kernel.count * kernel.time / speed)});
        }
      }
    }
  }
}

void StepBuilder::add_tasks(Program& program, const std::vector<int>& cost_of_call, int end) const {
  program.stream_names = streams_;
  // One communicator for each class of groups; costs stand class by class.
  std::vector<int> first_communicator;
  std::vector<std::vector<int>> class_of_rank;  // of the group that the rank is in
  for (std::size_t set = 0; set < communicators_.size(); ++set) {
    first_communicator.push_back(static_cast<int>(program.communicators.size()));
    program.communicators.resize(program.communicators.size() + folding_.first_group[set].size());
    std::vector<int>& of_rank = class_of_rank.emplace_back(folding_.class_of_rank.size(), -1);
    for (std::size_t g = 0; g < communicators_[set].groups.size(); ++g) {
      for (const int rank : communicators_[set].groups[g].ranks)
        of_rank[static_cast<std::size_t>(rank)] = folding_.class_of_group[set][g];
    }
  }
  std::vector<int> first_call;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const auto set = static_cast<std::size_t>(calls_[i].communicator);
    first_call.push_back(static_cast<int>(program.collectives.size()));
    for (std::size_t of_groups = 0; of_groups < folding_.first_group[set].size(); ++of_groups) {
      CollectiveCall& call = program.collectives.emplace_back();
      call.cost = cost_of_call[i] + static_cast<int>(of_groups);
      call.communicator = first_communicator[set] + static_cast<int>(of_groups);
      std::set<int> present;
      const auto first = static_cast<std::size_t>(folding_.first_group[set][of_groups]);
      for (const int rank : communicators_[set].groups[first].ranks)
        present.insert(folding_.class_of_rank[static_cast<std::size_t>(rank)]);
      call.participants = static_cast<int>(present.size());
    }
  }
  std::vector<int> first_work(1, 0);
  for (const StepBuilder* kind : kinds_)
    first_work.push_back(first_work.back() + static_cast<int>(kind->pieces_.size()));
  const std::vector<int> kinds = kind_of_rank();
  const int count = static_cast<int>(tasks_.size());
  program.ranks = static_cast<int>(folding_.first_rank.size());
  program.rank_of = folding_.first_rank;
  program.multiplicity = folding_.members;
  for (int rank = 0; rank < program.ranks; ++rank) {
    const auto global = static_cast<std::size_t>(folding_.first_rank[static_cast<std::size_t>(rank)]);
    const auto kind = static_cast<std::size_t>(kinds[global]);
    program.streams.push_back(static_cast<int>(streams_.size()));
    const int first_task = rank * count;
    const int first_wait = static_cast<int>(program.waits.size());
    for (const TaskId& wait : waits_) {
      const bool previous = wait.kind == TaskId::Kind::previous_step;
      program.waits.push_back({first_task + (previous ? end : wait.index), previous ? 1 : 0});
    }
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      const Recorded& recorded = tasks_[t];
      const Recorded& own = kinds_[kind]->tasks_[t];
      Task& task = program.tasks.emplace_back(recorded.task);
      task.rank = rank;
      task.host_time = own.task.host_time;
      task.first_wait += first_wait;
      if (own.pieces >= 0) task.payload = first_work[kind] + own.pieces;
      if (recorded.call < 0) continue;
      const auto call = static_cast<std::size_t>(recorded.call);
      const auto set = static_cast<std::size_t>(calls_[call].communicator);
      STEPCAST_CHECK(class_of_rank[set][global] >= 0, "a rank outside of every group of a communicator");
      task.payload = first_call[call] + class_of_rank[set][global];
    }
  }
  program.end_task = (program.ranks - 1) * count + end;
  program.micro_batch_marks = marks_;
}

bool StepBuilder::same_tasks(const StepBuilder& other) const {
  return tasks_.size() == other.tasks_.size() &&
         std::equal(
             tasks_.begin(), tasks_.end(), other.tasks_.begin(), [](const Recorded& a, const Recorded& b) {
               return a.task.kind == b.task.kind && a.task.stream == b.task.stream && a.call == b.call &&
                      a.task.wait_count == b.task.wait_count && (a.pieces < 0) == (b.pieces < 0);
             });
}

}  // namespace stepcast
