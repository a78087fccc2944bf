#include "sim/engine/simulate_flows.hpp"

#include <algorithm>
#include <cmath>

#include "base/diagnostic.hpp"
#include "sim/engine/detail/fluid.hpp"
#include "sim/engine/detail/instants.hpp"
#include "sim/engine/group_flows.hpp"

namespace stepcast {
namespace {

constexpr double ps_per_second = 1e12;

Picoseconds rounded(double picoseconds) {
  if (!(picoseconds < 4e18)) throw ClockOverflow("a flow");
  return std::llround(picoseconds);
}

/// One run. Flows that wait for their latency or move have a *seat*, a small number that is used again.
class FlowRun {
 public:
  FlowRun(const FlowSet& set, const FlowOptions& options)
      : set_(set),
        options_(options),
        network_(set.resources()),
        waiting_(static_cast<std::size_t>(set.flow_count())),
        vacant_on_(set.paths().size(), -1) {
    times_.end.resize(static_cast<std::size_t>(set.flow_count()));
    times_.simulated_flows = set.flow_count();
  }

  FlowTimes run();

 private:
  enum class State : std::uint8_t {
    latency,  ///< not yet moving
    moving,   ///< in the network
    apart,    ///< without a byte or a resource: it ends by itself
    vacant,   ///< its flow has just ended; still in the network
  };
  struct Seat {
    int flow{};
    int next_vacant{-1};
    double left{};  ///< bytes
    double rate{};
    Picoseconds since{};
    State state{};
  };
  const FlowSet::Path& path_of(int flow) const {
    return set_.paths()[static_cast<std::size_t>(set_.kind(flow).path)];
  }
  int take_seat(int flow, State state);
  void start_at(int flow, Picoseconds begin);
  void start(int flow);
  void end(int seat);
  void leave_vacant_seats();
  void set_rates();

  const FlowSet& set_;
  const FlowOptions& options_;
  detail::FluidNetwork network_;
  detail::Instants instants_;
  Picoseconds now_{};
  std::vector<int> waiting_;  ///< by flow: predecessors that have not ended
  std::vector<Seat> seats_;
  std::vector<int> free_seats_;
  std::vector<int> vacant_on_;  ///< by path: first of this instant's vacant seats
  std::vector<int> due_, starting_, started_, vacated_;
  std::vector<detail::FluidNetwork::RateChange> changes_;
  int moving_{};
  FlowTimes times_;  ///< `end` of a flow that has not started: when it may, as far as is known
};

int FlowRun::take_seat(int flow, State state) {
  int seat = static_cast<int>(seats_.size());
  if (free_seats_.empty()) {
    seats_.emplace_back();
  } else {
    seat = free_seats_.back();
    free_seats_.pop_back();
  }
  seats_[seat] = {.flow = flow, .since = now_, .state = state};
  return seat;
}

void FlowRun::start_at(int flow, Picoseconds begin) {
  if (begin <= now_)
    starting_.push_back(flow);
  else
    instants_.schedule(take_seat(flow, State::latency), begin);
}

void FlowRun::start(int flow) {
  const FlowSet::Kind& kind = set_.kind(flow);
  const FlowSet::Path& path = set_.paths()[static_cast<std::size_t>(kind.path)];
  if (kind.bytes == 0 || path.load_count == 0) {
    instants_.schedule(take_seat(flow, State::apart),
                       now_ + rounded(kind.bytes / path.alone_rate * ps_per_second));
    return;
  }
  int seat = vacant_on_[kind.path];
  if (seat >= 0) {
    vacant_on_[kind.path] = seats_[seat].next_vacant;
    seats_[seat] = {.flow = flow, .rate = seats_[seat].rate};
  } else {
    seat = take_seat(flow, State::moving);
    network_.start(seat, set_.loads(path), path.alone_rate);
    ++moving_;
  }
  seats_[seat].left = kind.bytes;
  seats_[seat].since = now_;
  seats_[seat].state = State::moving;
  started_.push_back(seat);
}

void FlowRun::end(int seat) {
  Seat& ended = seats_[seat];
  times_.end[ended.flow] = now_;
  times_.finish = now_;
  times_.events += 2;
  set_.for_each_successor(ended.flow, [&](int next, bool delayed) {
    Picoseconds& begin = times_.end[next];
    if (delayed) begin = std::max(begin, now_ + set_.kind(next).latency);
    if (--waiting_[next] == 0) start_at(next, begin);
  });
  // start_at may have moved the seats.
  Seat& left = seats_[seat];
  if (left.state == State::moving) {
    int& first = vacant_on_[set_.kind(left.flow).path];
    left.state = State::vacant;
    left.next_vacant = first;
    first = seat;
    vacated_.push_back(seat);
  } else {
    free_seats_.push_back(seat);
  }
}

/// Those that no flow of the same path has taken.
void FlowRun::leave_vacant_seats() {
  for (const int seat : vacated_) {
    if (seats_[seat].state != State::vacant) continue;
    vacant_on_[set_.kind(seats_[seat].flow).path] = -1;
    network_.stop(seat);
    free_seats_.push_back(seat);
    --moving_;
  }
  vacated_.clear();
}

void FlowRun::set_rates() {
  if (network_.touched()) {
    changes_.clear();
    network_.resolve(changes_);
    for (const auto& [seat, rate] : changes_) {
      Seat& moving = seats_[seat];
      const double seconds = static_cast<double>(now_ - moving.since) / ps_per_second;
      moving.left = std::max(0.0, moving.left - moving.rate * seconds);
      moving.rate = rate;
      moving.since = now_;
      instants_.schedule(seat, now_ + rounded(moving.left / rate * ps_per_second));
    }
  }
  for (const int seat : started_) {
    const Seat& moving = seats_[seat];
    if (!instants_.scheduled(seat))
      instants_.schedule(seat, now_ + rounded(moving.left / moving.rate * ps_per_second));
  }
  started_.clear();
}

FlowTimes FlowRun::run() {
  for (int flow = 0; flow < set_.flow_count(); ++flow) {
    waiting_[flow] = set_.predecessor_count(flow);
    times_.end[flow] = set_.kind(flow).latency;
    if (waiting_[flow] == 0) start_at(flow, times_.end[flow]);
  }
  while (true) {
    for (const int flow : starting_) start(flow);
    starting_.clear();
    leave_vacant_seats();
    times_.most_at_once = std::max(times_.most_at_once, moving_);
    set_rates();
    if (instants_.empty()) break;
    if (options_.cancel && options_.cancel->load(std::memory_order_relaxed)) throw Interrupted();
    now_ = instants_.pop(due_);
    for (const int seat : due_) {
      if (seats_[seat].state == State::latency) {
        starting_.push_back(seats_[seat].flow);
        free_seats_.push_back(seat);
      } else {
        end(seat);
      }
    }
  }
  return std::move(times_);
}

}  // namespace

FlowTimes simulate_flows(const FlowSet& set, const FlowOptions& options) {
  if (!options.group_alike) return FlowRun(set, options).run();
  const GroupedFlows grouped = group_flows(set);
  FlowTimes times = FlowRun(grouped.set, options).run();
  std::vector<Picoseconds> end(grouped.group_of.size());
  for (std::size_t flow = 0; flow < end.size(); ++flow) end[flow] = times.end[grouped.group_of[flow]];
  times.end = std::move(end);
  return times;
}

}  // namespace stepcast
