#include "sim/engine/detail/instants.hpp"

#include "base/diagnostic.hpp"
#include "sim/engine/detail/calendar.hpp"

namespace stepcast::detail {

int& Instants::remembered(Picoseconds time) {
  const std::uint64_t spread = static_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15U;  // golden ratio
  return recent_[spread >> 58U];
}

/// -1 where none is remembered.
int Instants::find(Picoseconds time) {
  const int instant = remembered(time);
  return instant < static_cast<int>(instants_.size()) && instants_[instant].time == time ? instant : -1;
}

/// Writes the entry where it belongs, starting at a free place.
void Instants::settle_in(int hole, const Entry& entry) {
  while (hole > 0) {
    const int parent = (hole - 1) / 2;
    if (!entry.before(heap_[parent])) break;
    heap_[hole] = heap_[parent];
    instants_[heap_[hole].instant].place = hole;
    hole = parent;
  }
  const int size = static_cast<int>(heap_.size());
  for (int child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
    if (child + 1 < size && heap_[child + 1].before(heap_[child])) ++child;
    if (!heap_[child].before(entry)) break;
    heap_[hole] = heap_[child];
    instants_[heap_[hole].instant].place = hole;
    hole = child;
  }
  heap_[hole] = entry;
  instants_[entry.instant].place = hole;
}

void Instants::put(int instant, Picoseconds time, int place) {
  instants_[instant].time = time;
  remembered(time) = instant;
  settle_in(place, {time, order_++, instant});
}

void Instants::remove(int place) {
  const int instant = heap_[place].instant;
  instants_[instant] = {};
  free_.push_back(instant);
  const Entry moved = heap_.back();
  heap_.pop_back();
  if (place < static_cast<int>(heap_.size())) settle_in(place, moved);
}

void Instants::append(int item, int instant) {
  Instant& where = instants_[instant];
  items_[item] = {-1, where.last, instant};
  (where.last >= 0 ? items_[where.last].next : where.first) = item;
  where.last = item;
}

void Instants::unlink(int item) {
  const Item gone = items_[item];
  Instant& instant = instants_[gone.instant];
  (gone.previous >= 0 ? items_[gone.previous].next : instant.first) = gone.next;
  (gone.next >= 0 ? items_[gone.next].previous : instant.last) = gone.previous;
  if (instant.first < 0) remove(instant.place);
}

void Instants::schedule(int item, Picoseconds time) {
  if (time > Calendar::latest) throw ClockOverflow("the simulated flows");
  if (item >= static_cast<int>(items_.size())) items_.resize(static_cast<std::size_t>(item) + 1);
  int instant = find(time);
  if (const int old = items_[item].instant; old >= 0) {
    if (old == instant) return;
    if (instant < 0 && instants_[old].first == instants_[old].last) {
      put(old, time, instants_[old].place);
      return;
    }
    unlink(item);
  }
  if (instant < 0) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(instants_.size()));
      instants_.emplace_back();
    }
    instant = free_.back();
    free_.pop_back();
    heap_.emplace_back();
    put(instant, time, static_cast<int>(heap_.size()) - 1);
  }
  append(item, instant);
}

Picoseconds Instants::pop(std::vector<int>& items) {
  items.clear();
  const Picoseconds time = heap_.front().time;
  while (!heap_.empty() && heap_.front().time == time) {
    for (int item = instants_[heap_.front().instant].first; item >= 0;) {
      items.push_back(item);
      const int next = items_[item].next;
      items_[item] = {};
      item = next;
    }
    remove(0);
  }
  return time;
}

}  // namespace stepcast::detail
