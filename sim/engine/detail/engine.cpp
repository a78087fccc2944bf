#include "sim/engine/detail/engine.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/diagnostic.hpp"

namespace stepcast::detail {
namespace {

// What StepState::pending says once nothing is awaited any more.
constexpr int ready = 0;
constexpr int begun = -1;
constexpr int ended = -2;

constexpr double ps_per_second = 1e12;
constexpr double longest = 4e18;  // 46 days: what the clock can still add up
constexpr double most_memory_share = 0.9;
constexpr double most_host_share = 0.95;

/// The one place where a time is rounded.
Picoseconds rounded(double ps) {
  if (!(ps < longest)) throw ClockOverflow("an activity");
  return std::llround(ps);
}

}  // namespace

Engine::Engine(const Program& program, const SimulateOptions& options, int last_step, StepNoise* noise)
    : program_(program),
      options_(options),
      last_step_(last_step),
      noise_(noise),
      plan_(program),
      fluid_(program.resources),
      hosts_(static_cast<std::size_t>(program.ranks)),
      running_(static_cast<std::size_t>(plan_.stream_first.back())),
      chains_(plan_.chain_concurrency.size()),
      ranks_(static_cast<std::size_t>(program.ranks)) {
  if (options_.cancel && options_.cancel->load(std::memory_order_relaxed)) throw Interrupted();
  for (int flow = 0; flow < background_flows(); ++flow)
    start_fluid(flow, plan_.costs[program.collective_costs.size() + static_cast<std::size_t>(flow)]);
  for (int rank = 0; rank < program.ranks; ++rank) {
    Host& host = hosts_[rank];
    host.next = static_cast<int>(plan_.issue_order.row(rank).size());
    if (host.next > 0) run_host(rank);
  }
}

Picoseconds Engine::run_to_end_of(int step) {
  keep_from_ = std::max(keep_from_, step);
  while (static_cast<int>(end_times_.size()) <= step) process_one();
  return end_times_[step];
}

void Engine::complete(int step) {
  while (steps_[step]->remaining > 0) process_one();
}

void Engine::process_one() {
  if (fluid_.touched() || !dirty_ranks_.empty()) {
    if (calendar_.empty() || calendar_.top().time > now_) settle_instant();
  }
  if (calendar_.empty()) fail_stuck();
  const Event event = calendar_.pop();
  now_ = event.time;
  switch (event.kind()) {
    case EventKind::available:
      begin(event.subject, static_cast<int>(event.stamp));
      break;
    case EventKind::compute_end: {
      Running& run = running_[event.subject];
      if (run.stamp != event.stamp) return;
      run.active = false;
      ++run.stamp;
      steps_[run.step]->times[run.task].end = now_;
      finish(run.task, run.step);
      break;
    }
    case EventKind::host_end:
      finish(event.subject, static_cast<int>(event.stamp));
      break;
    case EventKind::latency_end:
      begin_fluid(event.subject);
      break;
    case EventKind::flow_end:
      if (flows_[event.subject].stamp != event.stamp) return;
      end_call(event.subject);
      break;
  }
  constexpr std::int64_t between_polls = 256;
  if (++events_ % between_polls == 0) poll();
}

void Engine::poll() {
  if (options_.cancel && options_.cancel->load(std::memory_order_relaxed)) throw Interrupted();
  if (options_.progress) {
    const double all = static_cast<double>(expected_steps_) * static_cast<double>(plan_.tasks.size());
    reported_ = std::max(reported_, std::min(0.99, static_cast<double>(tasks_ended_) / all));
    options_.progress(reported_);
  }
}

/// Everything of this instant has happened: rates and costs follow once, however many starts and ends there
/// were.
void Engine::settle_instant() {
  if (fluid_.touched()) {
    changes_.clear();
    fluid_.resolve(changes_);
    for (const auto& change : changes_)
      if (change.flow >= background_flows()) change_rate(change.flow - background_flows(), change.rate);
  }
  for (const int rank : dirty_ranks_) recost(rank);
  dirty_ranks_.clear();
}

void Engine::fail_stuck() const {
  int step = oldest_;
  while (step + 1 < static_cast<int>(steps_.size()) && steps_[step]->remaining == 0) ++step;
  const std::vector<int>& pending = steps_[step]->pending;
  const auto stuck = std::find_if(pending.begin(), pending.end(), [](int state) { return state != ended; });
  throw InternalError(__FILE__, __LINE__,
                      "the program cannot finish: task " + std::to_string(stuck - pending.begin()) +
                          " of step " + std::to_string(step) + " waits for something that never happens");
}

Engine::StepState& Engine::open_step(int step) {
  if (step < static_cast<int>(steps_.size())) return *steps_[step];
  release_old_steps();
  steps_.push_back(spare_.empty() ? std::make_unique<StepState>() : std::move(spare_.back()));
  if (!spare_.empty()) spare_.pop_back();
  StepState& opened = *steps_.back();
  opened.pending = plan_.pending;
  opened.times.resize(plan_.tasks.size());
  opened.arrived.assign(program_.collectives.size(), 0);
  opened.remaining = static_cast<int>(plan_.tasks.size());
  opened.noisy = noise_ && noise_->draw(step, opened.task_factor, opened.call_factor);
  for (const CrossStepEdge& edge : plan_.cross_step) {
    const int earlier = step - edge.steps_back;
    if (earlier < 0 || steps_[earlier]->pending[edge.producer] == ended) --opened.pending[edge.task];
  }
  return opened;
}

/// A step is needed while tasks of it run or may still be awaited, and while it may be reported.
void Engine::release_old_steps() {
  const auto complete_through = [&](int step) {
    for (int s = oldest_; s <= step; ++s) {
      if (s >= static_cast<int>(steps_.size()) || steps_[s]->remaining > 0) return false;
    }
    return true;
  };
  while (oldest_ < keep_from_ && complete_through(oldest_ + plan_.longest_wait)) {
    spare_.push_back(std::move(steps_[oldest_]));
    ++oldest_;
  }
}

/// Issues task after task. Times are known without events until a host_wait blocks, so the CPU's clock may be
/// ahead of now_; it may also be behind, because a step is entered only when a stream asks for it: nothing of
/// it could have begun earlier.
void Engine::run_host(int rank) {
  Host& host = hosts_[rank];
  const std::span<const int> order = plan_.issue_order.row(rank);
  const int count = static_cast<int>(order.size());
  for (;;) {
    if (host.next == count) {
      host.parked = host.step == last_step_ || (host.wanted <= host.step && !plan_.eager_host[rank]);
      if (host.parked) return;
      ++host.step;
      host.next = 0;
    }
    StepState& state = open_step(host.step);
    while (host.next < count) {
      const int t = order[host.next++];
      const CompiledTask& task = plan_.tasks[t];
      Interval& times = state.times[t];
      times.task = t;
      if (task.kind == TaskKind::host_wait) {
        times.issued = times.eligible = times.resident = times.moving = host.time;
        if (--state.pending[t] > 0) return;
        pass_host_wait(t, host.step);
      } else {
        times.issued = host.time + task.first_launch;
        host.time += task.host_time;
        if (--state.pending[t] == ready) resolved(t, host.step);
      }
    }
  }
}

void Engine::pass_host_wait(int t, int step) {
  const Task& source = program_.tasks[t];
  Interval& times = steps_[step]->times[t];
  Picoseconds end = times.issued + source.host_time;
  for (int w = source.first_wait; w < source.first_wait + source.wait_count; ++w) {
    const Wait& wait = program_.waits[w];
    if (wait.steps_back <= step) end = std::max(end, steps_[step - wait.steps_back]->times[wait.task].end);
  }
  times.end = end;
  hosts_[source.rank].time = end;
  steps_[step]->pending[t] = begun;
  calendar_.push(std::max(end, now_), EventKind::host_end, t, static_cast<std::uint32_t>(step));
}

/// All that `t` waited for has happened.
void Engine::resolved(int t, int step) {
  if (plan_.tasks[t].kind == TaskKind::host_wait) {
    pass_host_wait(t, step);
    run_host(plan_.tasks[t].rank);
    return;
  }
  const Picoseconds available = steps_[step]->times[t].issued;
  if (available > now_) {
    steps_[step]->pending[t] = begun;  // not eligible yet: serve() must not take it
    calendar_.push(available, EventKind::available, t, static_cast<std::uint32_t>(step));
  } else {
    begin(t, step);
  }
}

void Engine::begin(int t, int step) {
  const CompiledTask& task = plan_.tasks[t];
  if (task.kind == TaskKind::compute) {
    begin_compute(t, step);
    return;
  }
  StepState& state = *steps_[step];
  state.times[t].eligible = now_;
  state.pending[t] = ready;
  serve(task.chain);
}

void Engine::finish(int t, int step) {
  StepState& state = *steps_[step];
  const CompiledTask& task = plan_.tasks[t];
  state.pending[t] = ended;
  --state.remaining;
  ++tasks_ended_;
  if (t == program_.end_task) end_times_.push_back(state.times[t].end);
  // Steps that are opened from here on, also by what this end sets off, see for themselves that `t` has
  // ended.
  const int opened = static_cast<int>(steps_.size());
  const Successor* successor = plan_.successors.data() + task.first_successor;
  for (int s = 0; s < task.successor_count; ++s, ++successor) {
    const int later = step + successor->steps_later;
    if (later >= opened) continue;
    if (--steps_[later]->pending[successor->task] == ready) resolved(successor->task, later);
  }
  if (task.last_of_stream) {
    Host& host = hosts_[task.rank];
    host.wanted = std::max(host.wanted, step + 1);
    if (host.parked) run_host(task.rank);
  }
}

double Engine::duration_now(int t, int step) const {
  const CompiledTask& task = plan_.tasks[t];
  const RankState& rank = ranks_[task.rank];
  const double alone =
      plan_.durations[static_cast<std::size_t>(task.payload) * static_cast<std::size_t>(plan_.levels) +
                      static_cast<std::size_t>(rank.level)];
  const double pause = plan_.pause_times[task.payload];
  const double duration =
      (alone - pause + plan_.memory_times[task.payload] * rank.memory_stretch) * rank.host_stretch + pause;
  const StepState& state = *steps_[step];
  return state.noisy ? duration * state.task_factor[t] : duration;
}

void Engine::begin_compute(int t, int step) {
  StepState& state = *steps_[step];
  const CompiledTask& task = plan_.tasks[t];
  state.pending[t] = begun;
  Interval& times = state.times[t];
  times.eligible = times.resident = times.moving = now_;
  Running& run = running_[task.stream];
  run.task = t;
  run.step = step;
  run.left = 1;
  run.duration = duration_now(t, step);
  run.since = now_;
  run.floor = times.issued + (task.host_time - task.first_launch);
  run.active = true;
  schedule_compute(task.stream);
}

void Engine::schedule_compute(int stream) {
  Running& run = running_[stream];
  const Picoseconds end = std::max(now_ + rounded(run.left * run.duration), run.floor);
  calendar_.push(end, EventKind::compute_end, stream, ++run.stamp);
}

void Engine::mark_dirty(int rank) {
  if (ranks_[rank].dirty) return;
  ranks_[rank].dirty = true;
  dirty_ranks_.push_back(rank);
}

void Engine::reserve(int rank, int sms) {
  RankState& state = ranks_[rank];
  state.reserved_sms += sms;
  const auto& levels = program_.reserved_levels;
  const auto level = std::lower_bound(levels.begin(), levels.end(), state.reserved_sms) - levels.begin();
  state.level = std::min(static_cast<int>(level), plan_.levels - 1);
  mark_dirty(rank);
}

void Engine::recost(int rank) {
  RankState& state = ranks_[rank];
  state.dirty = false;
  double memory = 0, host = 0;
  for (const int id : state.flows) {
    const CompiledCost& cost = plan_.costs[flows_[id].cost];
    memory += flows_[id].rate * cost.memory_share_per_rate;
    host += cost.host_share;
  }
  state.memory_stretch = 1 / (1 - std::min(memory, most_memory_share)) - 1;
  state.host_stretch = 1 / (1 - std::min(host, most_host_share));
  for (int stream = plan_.stream_first[rank]; stream < plan_.stream_first[rank + 1]; ++stream) {
    Running& run = running_[stream];
    if (!run.active) continue;
    const double duration = duration_now(run.task, run.step);
    if (duration == run.duration) continue;
    if (now_ > run.since) {
      const double done = run.duration > 0 ? static_cast<double>(now_ - run.since) / run.duration : 1;
      run.left = std::max(0.0, run.left - done);
    }
    run.since = now_;
    run.duration = duration;
    schedule_compute(stream);
  }
}

/// A communicator serves its calls on one rank in the order of issue, so many at once as it may.
void Engine::serve(int chain) {
  Chain& queue = chains_[chain];
  const std::span<const int> order = plan_.chains.row(chain);
  while (queue.active < plan_.chain_concurrency[chain] && queue.step < static_cast<int>(steps_.size())) {
    const int t = order[static_cast<std::size_t>(queue.next)];
    const int step = queue.step;
    if (steps_[step]->pending[t] != ready) return;
    steps_[step]->pending[t] = begun;
    if (++queue.next == static_cast<int>(order.size())) {
      queue.next = 0;
      ++queue.step;
    }
    ++queue.active;
    become_resident(t, step);
  }
}

void Engine::become_resident(int t, int step) {
  const CompiledTask& task = plan_.tasks[t];
  StepState& state = *steps_[step];
  state.times[t].resident = now_;
  const CollectiveCall& call = program_.collectives[task.payload];
  if (const int sms = plan_.costs[call.cost].sms; sms > 0) {
    reserve(task.rank, sms);
  }
  if (++state.arrived[task.payload] == call.participants) start_moving(task.payload, step);
}

void Engine::start_moving(int call, int step) {
  if (free_flows_.empty()) {
    free_flows_.push_back(static_cast<int>(flows_.size()));
    flows_.emplace_back();
  }
  const int id = free_flows_.back();
  free_flows_.pop_back();
  Flow& flow = flows_[id];
  flow.call = call;
  flow.step = step;
  flow.cost = program_.collectives[call].cost;
  const CompiledCost& cost = plan_.costs[flow.cost];
  StepState& state = *steps_[step];
  const double factor = state.noisy ? state.call_factor[call] : 1;
  flow.left = cost.load_count > 0 ? cost.payload * factor : 0;
  flow.rate = 0;
  flow.moving = false;
  for (const int t : plan_.call_tasks.row(call)) {
    state.times[t].moving = now_;
    if (!cost.slows_compute) continue;
    ranks_[plan_.tasks[t].rank].flows.push_back(id);
    mark_dirty(plan_.tasks[t].rank);
  }
  const Picoseconds latency =
      state.noisy ? rounded(static_cast<double>(cost.latency) * factor) : cost.latency;
  calendar_.push(now_ + latency, EventKind::latency_end, id, 0);
}

void Engine::begin_fluid(int id) {
  Flow& flow = flows_[id];
  if (flow.left <= 0) {
    end_call(id);
    return;
  }
  flow.moving = true;
  flow.since = now_;
  start_fluid(background_flows() + id, plan_.costs[flow.cost]);
}

void Engine::start_fluid(int flow, const CompiledCost& cost) {
  const auto first = static_cast<std::size_t>(cost.first_load);
  fluid_.start(flow, std::span(plan_.loads).subspan(first, static_cast<std::size_t>(cost.load_count)),
               cost.level_rate);
}

void Engine::change_rate(int id, double rate) {
  Flow& flow = flows_[id];
  flow.left = std::max(0.0, flow.left - flow.rate * (static_cast<double>(now_ - flow.since) / ps_per_second));
  flow.rate = rate;
  flow.since = now_;
  calendar_.push(now_ + rounded(flow.left / rate * ps_per_second), EventKind::flow_end, id, ++flow.stamp);
  if (plan_.costs[flow.cost].memory_share_per_rate > 0) {
    for (const int t : plan_.call_tasks.row(flow.call)) mark_dirty(plan_.tasks[t].rank);
  }
}

void Engine::end_call(int id) {
  Flow& flow = flows_[id];
  const CompiledCost& cost = plan_.costs[flow.cost];
  const std::span<const int> participants = plan_.call_tasks.row(flow.call);
  const int step = flow.step;
  if (flow.moving) fluid_.stop(background_flows() + id);
  ++flow.stamp;
  for (const int t : participants) {
    const CompiledTask& task = plan_.tasks[t];
    steps_[step]->times[t].end = now_;
    --chains_[task.chain].active;
    if (cost.sms > 0) reserve(task.rank, -cost.sms);
    if (cost.slows_compute) {
      std::vector<int>& flows = ranks_[task.rank].flows;
      flows.erase(std::find(flows.begin(), flows.end(), id));
      mark_dirty(task.rank);
    }
  }
  free_flows_.push_back(id);
  for (const int t : participants) finish(t, step);
  for (const int t : participants) serve(plan_.tasks[t].chain);
}

}  // namespace stepcast::detail
