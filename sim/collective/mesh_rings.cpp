#include "sim/collective/mesh_rings.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <map>
#include <utility>

namespace stepcast {
namespace {

// Bounds of the searches, far above what eight GPUs need: a fully connected mesh of eight has 2,520 cycles.
constexpr std::size_t most_walks = 20000;
constexpr int most_tries = 200000;
constexpr int most_steps = 2000000;  // of all walks from one entry: a mesh may have none, and many dead ends

/// All walks from `entry` over every member, as long as `keep` takes them.
class Walks {
 public:
  Walks(const std::vector<int>& members, const Connections& connections)
      : members_(members), connections_(connections) {}

  std::vector<std::vector<int>> from(int entry) {
    found_.clear();
    steps_ = 0;
    walk_.assign(1, entry);
    extend();
    return std::move(found_);
  }

 private:
  void extend() {
    if (found_.size() >= most_walks || ++steps_ > most_steps) return;
    if (walk_.size() == members_.size()) {
      found_.push_back(walk_);
      return;
    }
    for (const int next : members_) {
      if (std::find(walk_.begin(), walk_.end(), next) != walk_.end()) continue;
      if (connections_(walk_.back(), next) == 0) continue;
      walk_.push_back(next);
      extend();
      walk_.pop_back();
    }
  }

  const std::vector<int>& members_;
  const Connections& connections_;
  std::vector<int> walk_;
  std::vector<std::vector<int>> found_;
  int steps_{};
};

using Edge = std::pair<int, int>;

Edge edge(int a, int b) { return {std::min(a, b), std::max(a, b)}; }

/// Picks the most cycles that the free links allow; a cycle may be picked twice where all its links are
/// double.
class Packing {
 public:
  Packing(const std::vector<std::vector<int>>& cycles, std::map<Edge, int> free, std::size_t bound)
      : cycles_(cycles), free_(std::move(free)), bound_(bound) {}

  std::vector<std::size_t> best() {
    pick(0);
    return best_;
  }

 private:
  bool take(const std::vector<int>& cycle, int amount) {
    bool fits = true;
    for (std::size_t i = 0; i < cycle.size(); ++i)
      fits = (free_[edge(cycle[i], cycle[(i + 1) % cycle.size()])] -= amount) >= 0 && fits;
    return fits;
  }
  void pick(std::size_t first) {
    if (picked_.size() > best_.size()) best_ = picked_;
    for (std::size_t i = first; i < cycles_.size() && best_.size() < bound_ && tries_ < most_tries; ++i) {
      ++tries_;
      if (take(cycles_[i], 1)) {
        picked_.push_back(i);
        pick(i);
        picked_.pop_back();
      }
      take(cycles_[i], -1);
    }
  }

  const std::vector<std::vector<int>>& cycles_;
  std::map<Edge, int> free_;
  std::size_t bound_;
  int tries_{};
  std::vector<std::size_t> picked_, best_;
};

/// Less is better, the first difference decides.
struct Score {
  bool other_exit{};
  int same_exit{};  ///< paths that leave there already: each has its own way to its card
  double busiest{}, sum{};
  auto operator<=>(const Score&) const = default;
};

}  // namespace

std::vector<std::vector<int>> disjoint_cycles(const std::vector<int>& members,
                                              const Connections& connections) {
  if (members.size() < 2) return {};
  if (members.size() == 2)
    return std::vector<std::vector<int>>(static_cast<std::size_t>(connections(members[0], members[1])),
                                         members);
  std::map<Edge, int> free;
  int least_degree = -1;
  for (const int a : members) {
    int degree = 0;
    for (const int b : members)
      if (a != b) degree += free[edge(a, b)] = connections(a, b);
    least_degree = least_degree < 0 ? degree : std::min(least_degree, degree);
  }
  std::vector<std::vector<int>> cycles;
  for (auto& walk : Walks(members, connections).from(members.front()))
    // Each cycle once, not once in each direction.
    if (walk[1] < walk.back() && connections(walk.back(), walk.front()) > 0)
      cycles.push_back(std::move(walk));
  std::vector<std::vector<int>> chosen;
  for (const std::size_t i : Packing(cycles, free, static_cast<std::size_t>(least_degree / 2)).best())
    chosen.push_back(cycles[i]);
  return chosen;
}

std::vector<std::vector<int>> spread_paths(const std::vector<int>& members,
                                           const std::vector<PathWish>& wishes,
                                           const Connections& connections) {
  std::map<Edge, double> load;  // by direction
  std::map<int, int> leaving;
  std::vector<std::vector<int>> chosen;
  for (const auto& wish : wishes) {
    std::vector<int> best;
    Score best_score;
    for (auto& walk : Walks(members, connections).from(wish.entry)) {
      const auto among = [&](const std::vector<int>& exits) {
        return std::find(exits.begin(), exits.end(), walk.back()) != exits.end();
      };
      if (!among(wish.exits) && !among(wish.other_exits)) continue;
      Score score{!among(wish.exits), leaving[walk.back()], 0, 0};
      for (std::size_t i = 0; i + 1 < walk.size(); ++i) {
        const double after = (load[{walk[i], walk[i + 1]}] + 1) / connections(walk[i], walk[i + 1]);
        score.busiest = std::max(score.busiest, after);
        score.sum += after;
      }
      if (best.empty() || score < best_score) {
        best_score = score;
        best = std::move(walk);
      }
    }
    for (std::size_t i = 0; i + 1 < best.size(); ++i) load[{best[i], best[i + 1]}] += 1;
    if (!best.empty()) ++leaving[best.back()];
    chosen.push_back(std::move(best));
  }
  return chosen;
}

}  // namespace stepcast
