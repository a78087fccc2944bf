#include "calibrate/launch/watch.hpp"

#include <cmath>
#include <utility>

namespace stepcast {
namespace {

std::string in_seconds(Seconds time) { return std::to_string(std::lround(time.value)) + " s"; }

}  // namespace

Watch::Watch(std::vector<std::string> hosts, Seconds silence, Seconds now) : silence_(silence) {
  for (std::string& host : hosts) {
    Rank rank;
    rank.host = std::move(host);
    rank.heard = now;
    ranks_.push_back(std::move(rank));
  }
}

void Watch::doing(int rank, const std::string& what, Seconds at_most, Seconds now) {
  Rank& one = of(rank);
  one.what = what;
  one.since = now;
  one.until = now + at_most;
  if (!what.empty()) ++one.begun[what];
}

void Watch::forgive(Seconds gap) {
  for (Rank& rank : ranks_) {
    rank.heard += gap;
    rank.until += gap;
  }
}

int Watch::times(const Rank& rank, const std::string& what) {
  const auto found = rank.begun.find(what);
  return found == rank.begun.end() ? 0 : found->second;
}

std::string Watch::name(int rank) const {
  return "rank " + std::to_string(rank) + " (host " + of(rank).host + ")";
}

std::string Watch::names(const std::vector<int>& ranks) const {
  std::string result;
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < ranks.size() && i < most; ++i) result += (i > 0 ? ", " : "") + name(ranks[i]);
  if (ranks.size() > most) result += " and " + std::to_string(ranks.size() - most) + " more";
  return result;
}

std::string Watch::during(int rank) const {
  const std::string& what = of(rank).what;
  return what.empty() ? "" : " during \"" + what + "\"";
}

Verdict Watch::ended(int rank) const {
  return {3, rank,
          name(rank) + " ended" + during(rank) +
              ": it was killed (out of memory?) or failed; its own output may tell why"};
}

Verdict Watch::abandoned(int rank, const std::string& why) const {
  return {3, rank, name(rank) + " gave up" + during(rank) + ": " + why};
}

std::optional<Verdict> Watch::overdue(Seconds now) const {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    const Rank& one = of(rank);
    if (one.left) continue;
    if (now - one.heard > silence_) {
      return Verdict{3, rank,
                     name(rank) + " has been silent for " + in_seconds(now - one.heard) + during(rank) +
                         ": its process is stopped, or its host or network is down"};
    }
    if (one.what.empty() || now <= one.until) continue;
    if (auto verdict = who_holds_up(rank, now)) return verdict;
  }
  return std::nullopt;
}

std::optional<Verdict> Watch::who_holds_up(int late, Seconds now) const {
  const std::string& what = of(late).what;
  const int time = times(of(late), what);
  std::vector<int> behind, inside, beyond;
  bool beyond_in_time = false;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    const Rank& one = of(rank);
    if (one.left || one.waits) continue;
    const bool in_its_time = !one.what.empty() && now <= one.until;
    if (times(one, what) < time) {
      if (in_its_time) return std::nullopt;
      behind.push_back(rank);
    } else if (one.what == what && times(one, what) == time) {
      if (in_its_time) return std::nullopt;
      inside.push_back(rank);
    } else {
      beyond.push_back(rank);
      beyond_in_time = beyond_in_time || in_its_time;
    }
  }
  const std::string longer = "longer than the " + in_seconds(of(late).until - of(late).since) + " announced";
  if (!behind.empty()) {
    const std::string& at = of(behind.front()).what;
    return Verdict{3, behind.front(),
                   names(behind) + (behind.size() == 1 ? " has" : " have") + " not reached \"" + what +
                       "\", where others wait " + longer +
                       (at.empty() ? "" : ": last seen in \"" + at + "\"")};
  }
  if (!inside.empty()) {
    return Verdict{3, inside.front(),
                   names(inside) + (inside.size() == 1 ? " is" : " are") + " in \"" + what + "\" " + longer};
  }
  // It waits for others that have done with this work.
  if (beyond_in_time) return std::nullopt;
  if (beyond.empty()) beyond.push_back(late);
  return Verdict{3, beyond.front(),
                 names(beyond) + (beyond.size() == 1 ? " keeps " : " keep ") + name(late) +
                     " waiting since the end of \"" + what + "\", " + longer};
}

}  // namespace stepcast
