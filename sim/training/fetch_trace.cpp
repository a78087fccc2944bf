#include "sim/training/fetch_trace.hpp"

#include <algorithm>
#include <deque>

namespace stepcast {
namespace {

class Coordinator {
 public:
  Coordinator(const std::vector<TracedUse>& uses, const std::vector<double>& elements,
              const FetchSettings& settings)
      : uses_(uses), elements_(elements), settings_(settings), state_(elements.size()) {
    elements_before_.push_back(0);
    for (std::size_t i = 0; i < uses.size(); ++i) {
      double sum = 0;
      for (const int p : uses[i].parameters) {
        sum += size_of(p);
        queue_.push_back(p);
        state(p).uses.push_back(static_cast<int>(i));
      }
      elements_before_.push_back(elements_before_.back() + sum);
    }
  }

  FetchTrace run() {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      step_ = static_cast<int>(i);
      FetchStep& step = trace_.steps.emplace_back();
      std::vector<int> missing;
      for (const int p : uses_[i].parameters) {
        if (!persistent(p) && !state(p).available) missing.push_back(p);
      }
      step.fetch = gather(std::move(missing));
      for (const int p : uses_[i].parameters) step.awaited = std::max(step.awaited, await(p));
      leave_queue(uses_[i]);
      step.prefetch = prefetch();
      step.live = live_;
      trace_.peak_live = std::max(trace_.peak_live, live_);
      release(uses_[i]);
    }
    return std::move(trace_);
  }

 private:
  struct State {
    bool available{};             // gathered or on its way
    int call{-1};                 // that brings it, until somebody waited for it
    std::size_t next_in_queue{};  // uses that have left the prefetch queue
    std::size_t next_use{};
    std::vector<int> uses;
  };
  State& state(int p) { return state_[static_cast<std::size_t>(p)]; }
  double size_of(int p) const { return elements_[static_cast<std::size_t>(p)]; }
  bool persistent(int p) const { return size_of(p) <= settings_.persistence_threshold; }

  int gather(std::vector<int> parameters) {
    if (parameters.empty()) return -1;
    FetchCall call;
    for (const int p : parameters) {
      call.elements += size_of(p);
      state(p).available = true;
      state(p).call = static_cast<int>(trace_.calls.size());
    }
    live_ += call.elements;
    call.parameters = std::move(parameters);
    trace_.calls.push_back(std::move(call));
    return static_cast<int>(trace_.calls.size()) - 1;
  }

  int await(int p) {
    const int call = state(p).call;
    if (call < 0) return -1;
    // Waiting for one parameter of a call waits for the call.
    for (const int other : trace_.calls[static_cast<std::size_t>(call)].parameters) state(other).call = -1;
    return call;
  }

  void pop_front() {
    ++state(queue_.front()).next_in_queue;
    queue_.pop_front();
  }

  /// What the current module uses is not prefetched any more.
  void leave_queue(const TracedUse& use) {
    const bool still_queued = std::any_of(use.parameters.begin(), use.parameters.end(), [&](int p) {
      const State& s = state(p);
      return s.next_in_queue < s.uses.size() && s.uses[s.next_in_queue] <= step_;
    });
    if (!still_queued) return;
    for (std::size_t i = 0; i < use.parameters.size() && !queue_.empty(); ++i) {
      const State& s = state(queue_.front());
      if (s.uses[s.next_in_queue] > step_) break;
      pop_front();
    }
  }

  int prefetch() {
    const double limit = std::min(settings_.max_live - live_, settings_.prefetch_bucket);
    std::vector<int> chosen;
    double sum = 0;
    while (!queue_.empty() && sum < limit) {
      const int p = queue_.front();
      pop_front();
      const bool taken = std::find(chosen.begin(), chosen.end(), p) != chosen.end();
      if (persistent(p) || state(p).available || taken) continue;
      chosen.push_back(p);
      sum += size_of(p);
    }
    return gather(std::move(chosen));
  }

  void release(const TracedUse& use) {
    const std::size_t after = static_cast<std::size_t>(step_) + 1;
    for (const int p : use.parameters) {
      State& s = state(p);
      while (s.next_use < s.uses.size() && s.uses[s.next_use] <= step_) ++s.next_use;
      if (persistent(p) || !s.available) continue;
      if (s.next_use < s.uses.size()) {
        const auto next = static_cast<std::size_t>(s.uses[s.next_use]);
        if (elements_before_[next] - elements_before_[after] < settings_.max_reuse_distance) continue;
      }
      s.available = false;
      live_ -= size_of(p);
    }
  }

  const std::vector<TracedUse>& uses_;
  const std::vector<double>& elements_;
  const FetchSettings& settings_;
  std::vector<State> state_;
  std::vector<double> elements_before_;
  std::deque<int> queue_;
  FetchTrace trace_;
  double live_{};
  int step_{};
};

}  // namespace

FetchTrace trace_fetches(const std::vector<TracedUse>& uses, const std::vector<double>& elements,
                         const FetchSettings& settings) {
  return Coordinator(uses, elements, settings).run();
}

}  // namespace stepcast
