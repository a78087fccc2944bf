#include "sim/engine/group_flows.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>

#include "base/hash.hpp"

namespace stepcast {
namespace {

struct Colour {
  std::uint64_t high{}, low{};
  auto operator<=>(const Colour&) const = default;

  /// This colour after `what`: depends on the order.
  [[nodiscard]] Colour then(std::uint64_t what) const {
    return {mixed(high * golden_ratio + what), mixed((low ^ what) + 0xd1b54a32d192ed03U)};
  }
  [[nodiscard]] Colour then(Colour other) const { return then(other.high).then(other.low); }
  /// Sums do not depend on the order: the colour of a set with repetitions.
  void add(Colour other) {
    high += other.high;
    low += other.low;
  }
};

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

std::size_t count_distinct(std::vector<Colour> colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

class Refinement {
 public:
  explicit Refinement(const FlowSet& set);
  void run();
  [[nodiscard]] const std::vector<Colour>& flows() const { return flows_; }
  [[nodiscard]] const std::vector<Colour>& resources() const { return resources_; }

 private:
  void refine_resources();
  void refine_flows();

  const FlowSet& set_;
  std::vector<Colour> flows_, resources_;
  std::vector<Colour> sums_, predecessors_;
};

Refinement::Refinement(const FlowSet& set)
    : set_(set),
      flows_(static_cast<std::size_t>(set.flow_count())),
      resources_(set.resources().size()),
      sums_(set.resources().size()),
      predecessors_(flows_.size()) {
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    resources_[r] = Colour{}.then(bits(set.resources()[r].capacity));
  }
  for (int f = 0; f < set.flow_count(); ++f) {
    const FlowSet::Kind& kind = set.kind(f);
    flows_[f] = Colour{}.then(bits(kind.bytes)).then(static_cast<std::uint64_t>(kind.latency));
    flows_[f] = flows_[f].then(bits(set.paths()[kind.path].alone_rate));
  }
}

void Refinement::refine_resources() {
  std::fill(sums_.begin(), sums_.end(), Colour{});
  for (int f = 0; f < set_.flow_count(); ++f) {
    for (const Load& load : set_.loads(set_.paths()[set_.kind(f).path])) {
      sums_[load.resource].add(flows_[f].then(bits(load.weight)));
    }
  }
  for (std::size_t r = 0; r < resources_.size(); ++r) resources_[r] = resources_[r].then(sums_[r]);
}

/// Predecessors come first, so that one round carries a change through a whole chain.
void Refinement::refine_flows() {
  std::fill(predecessors_.begin(), predecessors_.end(), Colour{});
  for (int f = 0; f < set_.flow_count(); ++f) {
    Colour around = predecessors_[f];
    for (const Load& load : set_.loads(set_.paths()[set_.kind(f).path])) {
      around.add(resources_[load.resource].then(bits(load.weight)));
    }
    flows_[f] = flows_[f].then(around);
    set_.for_each_successor(f, [&](int next, bool delayed) {
      predecessors_[next].add(flows_[f].then(delayed ? 1 : 2));  // not to be taken for a resource's
    });
  }
}

void Refinement::run() {
  std::size_t groups = count_distinct(flows_) + count_distinct(resources_);
  while (true) {
    refine_resources();
    refine_flows();
    const std::size_t refined = count_distinct(flows_) + count_distinct(resources_);
    if (refined == groups) return;
    groups = refined;
  }
}

struct Groups {
  std::vector<int> of;              ///< by member: its group, numbered by first members
  std::vector<int> representative;  ///< by group: its first member
};

Groups number(const std::vector<Colour>& colours) {
  std::vector<int> order(colours.size());
  for (int i = 0; i < static_cast<int>(order.size()); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return colours[a] != colours[b] ? colours[a] < colours[b] : a < b; });
  Groups groups;
  groups.of.assign(colours.size(), 0);
  int first = 0;
  for (const int member : order) {
    if (colours[member] != colours[first] || member == order.front()) first = member;
    groups.of[member] = first;
  }
  for (int member = 0; member < static_cast<int>(colours.size()); ++member) {
    if (groups.of[member] == member) {
      groups.of[member] = static_cast<int>(groups.representative.size());
      groups.representative.push_back(member);
    } else {
      groups.of[member] = groups.of[groups.of[member]];  // the first member comes first
    }
  }
  return groups;
}

}  // namespace

GroupedFlows group_flows(const FlowSet& set) {
  Refinement refinement(set);
  refinement.run();
  Groups flows = number(refinement.flows());
  const Groups resources = number(refinement.resources());

  std::vector<Resource> kept;
  for (const int r : resources.representative) kept.push_back(set.resources()[r]);
  // What a whole group of flows puts on one resource of each group, per byte of one flow.
  std::vector<std::tuple<int, int, double>> uses;
  for (int f = 0; f < set.flow_count(); ++f) {
    for (const Load& load : set.loads(set.paths()[set.kind(f).path])) {
      const int group = resources.of[load.resource];
      if (resources.representative[group] == load.resource)
        uses.emplace_back(flows.of[f], group, load.weight);
    }
  }
  std::sort(uses.begin(), uses.end());
  std::vector<std::tuple<int, bool, int>> waits;  // group, whether its latency follows, one that it waits for
  for (int f = 0; f < set.flow_count(); ++f) {
    set.for_each_successor(f, [&](int next, bool delayed) {
      if (flows.representative[flows.of[next]] == next)
        waits.emplace_back(flows.of[next], delayed, flows.of[f]);
    });
  }
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());

  GroupedFlows result{FlowSet(std::move(kept)), {}};
  std::size_t use = 0, wait = 0;
  std::vector<Load> loads;
  std::vector<int> after, behind;
  for (int group = 0; group < static_cast<int>(flows.representative.size()); ++group) {
    loads.clear();
    for (; use < uses.size() && std::get<0>(uses[use]) == group; ++use) {
      const auto& [flow, resource, weight] = uses[use];
      if (!loads.empty() && loads.back().resource == resource)
        loads.back().weight += weight;
      else
        loads.push_back({resource, weight});
    }
    after.clear();
    behind.clear();
    for (; wait < waits.size() && std::get<0>(waits[wait]) == group; ++wait)
      (std::get<1>(waits[wait]) ? after : behind).push_back(std::get<2>(waits[wait]));
    const FlowSet::Kind& kind = set.kind(flows.representative[group]);
    const int path = result.set.add_shared_path(loads, set.paths()[kind.path].alone_rate);
    result.set.add_flow(path, kind.bytes, kind.latency, after, behind);
  }
  result.group_of = std::move(flows.of);
  return result;
}

}  // namespace stepcast
