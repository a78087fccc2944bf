#pragma once

#include <cstdint>
#include <vector>

#include "base/diagnostic.hpp"
#include "sim/engine/program.hpp"

namespace stepcast::detail {

enum class EventKind : std::uint8_t {
  available,    ///< the CPU has launched a task whose predecessors had ended before: subject task, stamp step
  compute_end,  ///< subject: stream slot
  host_end,     ///< a host_wait is passed: subject task, stamp step
  latency_end,  ///< subject: flow
  flow_end,     ///< subject: flow
};

struct Event {
  Picoseconds time{};
  std::uint64_t order{};  ///< sequence number * 8 + kind: unique, so that ties break by sequence
  int subject{};
  std::uint32_t stamp{};  ///< of a step, or of the schedule: an event with an old stamp was replaced

  [[nodiscard]] EventKind kind() const { return static_cast<EventKind>(order & 7U); }
};

/// Binary heap by (time, sequence number): events at the same time come in the order in which they were
/// scheduled.
class Calendar {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Event& top() const { return heap_.front(); }

  static constexpr Picoseconds latest =
      5'000'000'000'000'000'000;  ///< 58 days: one more activity still adds up

  void push(Picoseconds time, EventKind kind, int subject, std::uint32_t stamp) {
    if (time > latest) throw ClockOverflow("the simulated steps");
    const Event event{time, (sequence_++ << 3U) | static_cast<std::uint64_t>(kind), subject, stamp};
    heap_.push_back(event);
    std::size_t hole = heap_.size() - 1;
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (!before(event, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  Event pop() {
    const Event first = heap_.front();
    const Event moved = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    if (size > 0) {
      std::size_t hole = 0;
      for (std::size_t child = 1; child < size; child = 2 * hole + 1) {
        if (child + 1 < size && before(heap_[child + 1], heap_[child])) ++child;
        if (!before(heap_[child], moved)) break;
        heap_[hole] = heap_[child];
        hole = child;
      }
      heap_[hole] = moved;
    }
    return first;
  }

 private:
  static bool before(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
  }

  std::vector<Event> heap_;
  std::uint64_t sequence_{};
};

}  // namespace stepcast::detail
