#include "sim/report/links.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace stepcast {
namespace {

struct Use {
  double bytes{};
  std::vector<std::pair<Picoseconds, Picoseconds>> moving;  ///< of the planned calls
  Seconds repeated;  ///< moving time that the repeated micro-batches add
};

Picoseconds length_of_union(std::vector<std::pair<Picoseconds, Picoseconds>> spans) {
  std::sort(spans.begin(), spans.end());
  Picoseconds total = 0, reached = 0;
  bool first = true;
  for (const auto& [begin, end] : spans) {
    const Picoseconds from = first ? begin : std::max(begin, reached);
    if (end > from) total += end - from;
    reached = first ? end : std::max(reached, end);
    first = false;
  }
  return total;
}

std::vector<Use> uses_of(const Program& program, const Timeline& timeline) {
  std::vector<Use> uses(program.resources.size());
  std::vector<bool> seen(program.collectives.size(), false);  // a call has one task on each of its ranks
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    const Task& task = program.tasks[i];
    if (task.kind != TaskKind::collective) continue;
    const auto index = static_cast<std::size_t>(task.payload);
    if (seen[index]) continue;
    seen[index] = true;
    const auto& cost = program.collective_costs[static_cast<std::size_t>(program.collectives[index].cost)];
    const Interval& interval = timeline.intervals[i];
    const int times = repetitions(program, task);
    for (const Load& load : cost.loads) {
      Use& use = uses[static_cast<std::size_t>(load.resource)];
      use.bytes += times * cost.payload * load.weight;
      use.moving.emplace_back(interval.moving, interval.end);
      use.repeated += (times - 1) * to_seconds(interval.end - interval.moving);
    }
  }
  return uses;
}

}  // namespace

std::vector<LinkRow> link_rows(const Program& program, const Timeline& timeline, const Cluster& cluster) {
  struct Best {
    LinkRow row;
    int link{};
  };
  std::map<std::tuple<LinkKind, DeviceKind, DeviceKind>, Best> classes;
  const auto uses = uses_of(program, timeline);
  const Seconds step = to_seconds(timeline.step_time);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Resource& resource = program.resources[i];
    if (uses[i].bytes <= 0 || resource.link < 0) continue;
    const Link& link = cluster.links()[static_cast<std::size_t>(resource.link)];
    const auto kind_at = [&](int device) { return cluster.devices()[static_cast<std::size_t>(device)].kind; };
    LinkRow row;
    row.kind = name_of(link.kind);
    row.utilization = uses[i].bytes / (resource.capacity * step.value);
    row.busy = std::min(step, to_seconds(length_of_union(uses[i].moving)) + uses[i].repeated);
    auto [place, fresh] = classes.try_emplace({link.kind, kind_at(link.from), kind_at(link.to)});
    Best& best = place->second;
    if (fresh || row.utilization > best.row.utilization ||
        (row.utilization == best.row.utilization && resource.link < best.link)) {
      row.name = cluster.link_name(resource.link);
      best = {std::move(row), resource.link};
    }
  }
  std::vector<LinkRow> rows;
  rows.reserve(classes.size());
  for (auto& [key, best] : classes) rows.push_back(std::move(best.row));
  return rows;
}

}  // namespace stepcast
