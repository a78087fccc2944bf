#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine/program.hpp"

namespace stepcast::detail {

/// Items (small numbers) by the time at which something happens to them: a binary heap of instants, each
/// with a list of items. Thousands of flows that end together cost a walk along a list, and one whose time
/// changes a little moves a little in the heap.
class Instants {
 public:
  /// Moves the item where it is scheduled already.
  /// @throws ClockOverflow beyond what the clock counts
  void schedule(int item, Picoseconds time);
  [[nodiscard]] bool scheduled(int item) const {
    return item < static_cast<int>(items_.size()) && items_[item].instant >= 0;
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// Takes all items of the earliest time. Not empty.
  Picoseconds pop(std::vector<int>& items);

 private:
  struct Item {
    int next{-1}, previous{-1};
    int instant{-1};  ///< -1: not scheduled
  };
  struct Instant {
    Picoseconds time{-1};  ///< -1: free
    int first{-1}, last{-1};
    int place{};  ///< in heap_
  };
  struct Entry {
    Picoseconds time{};
    std::uint64_t order{};  ///< two instants of one time come in the order in which they were made
    int instant{};
    [[nodiscard]] bool before(const Entry& other) const {
      return time != other.time ? time < other.time : order < other.order;
    }
  };

  /// The place of the table where an instant of this time would be remembered.
  int& remembered(Picoseconds time);
  [[nodiscard]] int find(Picoseconds time);
  void put(int instant, Picoseconds time, int place);
  void remove(int place);
  void settle_in(int hole, const Entry& entry);
  void append(int item, int instant);
  void unlink(int item);

  std::vector<Item> items_;
  std::vector<Instant> instants_;
  std::vector<int> free_;
  std::vector<Entry> heap_;
  std::uint64_t order_{};
  /// Some recent instants by time: flows that end together are mostly scheduled together.
  std::array<int, 64> recent_{};
};

}  // namespace stepcast::detail
