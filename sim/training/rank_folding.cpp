#include "sim/training/rank_folding.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace stepcast {
namespace {

/// Numbers equal keys alike, in the order of their first appearance.
class Numbering {
 public:
  int of(std::vector<int> key) {
    return numbers_.try_emplace(std::move(key), static_cast<int>(numbers_.size())).first->second;
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  std::map<std::vector<int>, int> numbers_;
};

/// How many members of each class, after the situation.
std::vector<int> key_of(const GroupsToFold& set, std::size_t group, const std::vector<int>& class_of_rank) {
  std::map<int, int> count;
  for (const int rank : set.ranks[group]) ++count[class_of_rank[static_cast<std::size_t>(rank)]];
  std::vector<int> key{set.situation[group]};
  for (const auto& [kind, number] : count) key.insert(key.end(), {kind, number});
  return key;
}

}  // namespace

int RankFolding::groups_in(std::size_t communicator, std::size_t group_class) const {
  const std::vector<int>& of_group = class_of_group[communicator];
  return static_cast<int>(std::count(of_group.begin(), of_group.end(), static_cast<int>(group_class)));
}

RankFolding fold_ranks(const std::vector<int>& kind, const std::vector<GroupsToFold>& communicators) {
  RankFolding folding;
  std::size_t classes = 0;
  std::vector<std::vector<int>> keys;
  for (const int of_rank : kind) keys.push_back({of_rank});
  while (true) {
    Numbering ranks;
    folding.class_of_rank.clear();
    for (auto& key : keys) folding.class_of_rank.push_back(ranks.of(std::move(key)));
    folding.class_of_group.clear();
    for (std::size_t rank = 0; rank < kind.size(); ++rank) keys[rank].assign(1, folding.class_of_rank[rank]);
    for (const GroupsToFold& set : communicators) {
      Numbering groups;
      std::vector<int>& of_group = folding.class_of_group.emplace_back();
      for (std::size_t g = 0; g < set.ranks.size(); ++g) {
        of_group.push_back(groups.of(key_of(set, g, folding.class_of_rank)));
        for (const int rank : set.ranks[g]) keys[static_cast<std::size_t>(rank)].push_back(of_group.back());
      }
    }
    if (ranks.size() == classes) break;
    classes = ranks.size();
  }
  folding.first_rank.assign(classes, -1);
  folding.members.assign(classes, 0);
  for (std::size_t rank = 0; rank < kind.size(); ++rank) {
    const auto of_rank = static_cast<std::size_t>(folding.class_of_rank[rank]);
    if (folding.members[of_rank]++ == 0) folding.first_rank[of_rank] = static_cast<int>(rank);
  }
  for (const std::vector<int>& of_group : folding.class_of_group) {
    std::vector<int>& first = folding.first_group.emplace_back();
    for (std::size_t g = 0; g < of_group.size(); ++g)
      if (of_group[g] == static_cast<int>(first.size())) first.push_back(static_cast<int>(g));
  }
  return folding;
}

}  // namespace stepcast
