#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace stepcast {

/// Why all ranks end.
struct Verdict {
  int exit_code{3};
  int rank{-1};  ///< the one at fault; -1: none
  std::string text;
};

/// What each rank is at, and who is to blame when it doesn't go on. Times are handed in, so it has no clock.
class Watch {
 public:
  Watch() = default;
  Watch(std::vector<std::string> hosts, Seconds silence, Seconds now);

  void heard(int rank, Seconds now) { of(rank).heard = now; }
  void doing(int rank, const std::string& what, Seconds at_most, Seconds now);
  /// The rank waits for others (in a barrier, or for a key), so that its own time doesn't count.
  void waits(int rank, bool does) { of(rank).waits = does; }
  /// The rank said goodbye.
  void left(int rank) { of(rank).left = true; }
  /// The watcher itself slept (a laptop's lid, a stopped job): no rank is to blame for that time.
  void forgive(Seconds gap);

  /// The rank's connection closed without a goodbye.
  [[nodiscard]] Verdict ended(int rank) const;
  [[nodiscard]] Verdict abandoned(int rank, const std::string& why) const;
  /// A rank that is silent, or, when one stays longer in a piece of work than it announced, the rank that
  /// holds it up: one that has not begun that work as often as the others, unless it is within its own
  /// announced time; else all that are in it, once the last one's time is over.
  [[nodiscard]] std::optional<Verdict> overdue(Seconds now) const;
  /// "rank 3 (host b)"
  [[nodiscard]] std::string name(int rank) const;

 private:
  struct Rank {
    std::string host, what;
    Seconds heard, since, until;
    std::map<std::string, int> begun;  ///< how often it began each piece of work
    bool waits{}, left{};
  };
  [[nodiscard]] Rank& of(int rank) { return ranks_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] const Rank& of(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] static int times(const Rank& rank, const std::string& what);
  [[nodiscard]] std::string names(const std::vector<int>& ranks) const;
  [[nodiscard]] std::string during(int rank) const;
  [[nodiscard]] std::optional<Verdict> who_holds_up(int late, Seconds now) const;

  std::vector<Rank> ranks_;
  Seconds silence_;
};

}  // namespace stepcast
