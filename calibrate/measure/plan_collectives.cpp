#include <algorithm>
#include <map>

#include "calibrate/measure/plan.hpp"

namespace stepcast {
namespace {

constexpr double smallest = 1024, largest = 64.0 * 1024 * 1024;

Measurement collective(Operation operation, double bytes, const RankGroup& group, Dtype type) {
  Measurement what;
  what.kind = Measurement::Kind::collective;
  what.dtype = type;
  what.collective = operation;
  what.bytes = Bytes(bytes);
  what.ranks = group.ranks;
  what.group = group.name;
  what.nodes = group.nodes;
  return what;
}

void add_sizes(PlanBuilder& plan, Operation operation, const RankGroup& group, double first, double last,
               double factor, int stage) {
  for (double bytes = first; bytes <= last; bytes *= factor)
    plan.add(collective(operation, bytes, group, Dtype::fp32), stage);
}

}  // namespace

std::vector<RankGroup> rank_groups(const RankPlace& place) {
  std::map<int, std::vector<int>> of_node;
  for (int rank = 0; rank < place.size; ++rank)
    of_node[place.node_of_rank.at(static_cast<std::size_t>(rank))].push_back(rank);
  std::vector<RankGroup> groups;
  const auto add = [&](std::string name, std::vector<int> ranks, int nodes) {
    const bool known = std::any_of(groups.begin(), groups.end(),
                                   [&](const RankGroup& group) { return group.ranks == ranks; });
    if (ranks.size() > 1 && !known) groups.push_back({std::move(name), std::move(ranks), nodes});
  };
  std::vector<int> all(static_cast<std::size_t>(place.size));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  add("all", all, place.nodes);
  const std::size_t local = of_node.empty() ? 0 : of_node.begin()->second.size();
  const bool even = std::all_of(of_node.begin(), of_node.end(),
                                [&](const auto& node) { return node.second.size() == local; });
  if (!even || place.nodes < 2) return groups;
  add("node", of_node.begin()->second, 1);
  for (std::size_t i = 0; i < local; ++i) {
    std::vector<int> rail;
    for (const auto& [node, ranks] : of_node) rail.push_back(ranks[i]);
    add(i == 0 ? "across" : "rail " + std::to_string(i), std::move(rail), place.nodes);
  }
  return groups;
}

void plan_collectives(PlanBuilder& plan) {
  for (const RankGroup& group : rank_groups(plan.place())) {
    if (group.name.starts_with("rail")) {
      // Other rails show cards and cables that are slower than the first.
      add_sizes(plan, Operation::all_reduce, group, 1024.0 * 1024, largest, 64, 2);
      continue;
    }
    const int stage = group.name == "all" ? 0 : 1;
    for (const Operation operation :
         {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter, Operation::broadcast}) {
      // Where the largest size takes long, one operation's stands for the others: their rate no longer grows.
      const bool all_sizes = operation == Operation::all_reduce || !plan.quick();
      add_sizes(plan, operation, group, smallest, largest / 4, 4, stage);
      if (all_sizes) add_sizes(plan, operation, group, largest, largest, 4, 1);
      if (!plan.quick()) add_sizes(plan, operation, group, smallest, largest, 2, 2);
    }
    if (plan.quick()) continue;
    for (const Operation operation : {Operation::all_to_all, Operation::send_recv})
      add_sizes(plan, operation, group, smallest, largest, 4, 2);
  }
}

void plan_overlap(PlanBuilder& plan) {
  const std::vector<RankGroup> groups = rank_groups(plan.place());
  if (groups.empty()) return;
  const std::vector<std::int64_t> sides =
      plan.on_host() ? std::vector<std::int64_t>{256, 512} : std::vector<std::int64_t>{4096, 8192};
  for (const std::int64_t side : sides) {
    for (const double bytes : {1024.0 * 1024, 4096.0 * 1024, 16384.0 * 1024}) {
      Measurement what = products_of_linear(side, side, side, plan.main_type()).front();
      const Measurement call = collective(Operation::all_reduce, bytes, groups.front(), Dtype::fp32);
      what.kind = Measurement::Kind::overlap;
      what.collective = call.collective;
      what.bytes = call.bytes;
      what.ranks = call.ranks;
      what.group = call.group;
      what.nodes = call.nodes;
      plan.add(what, 0);
    }
  }
}

}  // namespace stepcast
