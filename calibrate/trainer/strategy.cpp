#include "calibrate/trainer/strategy.hpp"

#include <chrono>
#include <numeric>
#include <utility>

namespace stepcast {
namespace {

using Clock = std::chrono::steady_clock;

Seconds since(Clock::time_point start) {
  return Seconds(std::chrono::duration<double>(Clock::now() - start).count());
}

}  // namespace

void StepClock::wait(DeviceCommunicator& communicator, DeviceCommunicator::Ticket ticket) {
  const Clock::time_point start = Clock::now();
  communicator.wait(ticket);
  parts_.exposed += since(start);
}

void StepClock::optimizer(const std::function<void()>& update) {
  device_.synchronize();
  const Clock::time_point start = Clock::now();
  update();
  device_.synchronize();
  parts_.optimizer += since(start);
}

std::vector<int> StrategyInputs::all_ranks() const {
  std::vector<int> ranks(static_cast<std::size_t>(world));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

StepClock::Parts StepClock::take() { return std::exchange(parts_, {}); }

}  // namespace stepcast
