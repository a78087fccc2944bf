#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/detail/calendar.hpp"
#include "sim/engine/detail/compiled.hpp"
#include "sim/engine/detail/fluid.hpp"
#include "sim/engine/simulate.hpp"

namespace stepcast::detail {

/// Factors on the durations of one step's tasks and calls; none: all are 1.
class StepNoise {
 public:
  virtual ~StepNoise() = default;
  /// @returns false when the step runs without noise
  virtual bool draw(int step, std::vector<double>& of_task, std::vector<double>& of_call) = 0;
};

/// Runs a program step after step. The rules are on one page in docs/engine.md.
class Engine {
 public:
  /// @param last_step  no CPU goes beyond this step
  Engine(const Program& program, const SimulateOptions& options, int last_step, StepNoise* noise = nullptr);

  /// Runs until the program's end_task has ended in `step`; when.
  Picoseconds run_to_end_of(int step);
  /// Runs until every task of `step` has ended.
  void complete(int step);
  /// Of a step that is complete and not older than the last one asked for.
  [[nodiscard]] const std::vector<Interval>& intervals(int step) const { return steps_[step]->times; }
  [[nodiscard]] std::int64_t events() const { return events_; }
  /// What `share` of the run stands for in options.progress: tasks of this many steps.
  void expect_steps(int steps) { expected_steps_ = steps; }

 private:
  struct StepState {
    std::vector<int> pending;  ///< > 0: waits for so many; `ready`, `begun` or `ended`
    std::vector<Interval> times;
    std::vector<int> arrived;  ///< by call: participants that are resident
    std::vector<double> task_factor, call_factor;
    bool noisy{};
    int remaining{};
  };
  struct Host {
    Picoseconds time{};  ///< when the CPU is free
    int step{-1}, next{};
    int wanted{};       ///< step that some stream asks for
    bool parked{true};  ///< at the end of its step, until the next one is asked for
  };
  struct Running {
    int task{}, step{};
    double left{};      ///< share of the work
    double duration{};  ///< of all of it, as things are, ps
    Picoseconds since{}, floor{};
    std::uint32_t stamp{};
    bool active{};
  };
  struct Chain {
    int step{}, next{}, active{};
  };
  struct Flow {
    int call{}, step{}, cost{};
    double left{};  ///< bytes
    double rate{};
    Picoseconds since{};
    std::uint32_t stamp{};
    bool moving{};  ///< in the fluid phase
  };
  struct RankState {
    int reserved_sms{};
    int level{};
    double memory_stretch{};  ///< 1 / (1 - share) - 1
    double host_stretch{1};   ///< 1 / (1 - share)
    bool dirty{};
    std::vector<int> flows;  ///< that move and slow this rank's compute
  };

  void process_one();
  void poll();
  void settle_instant();
  [[noreturn]] void fail_stuck() const;

  StepState& open_step(int step);
  void release_old_steps();

  void run_host(int rank);
  void pass_host_wait(int task, int step);
  void resolved(int task, int step);
  void begin(int task, int step);
  void finish(int task, int step);

  void begin_compute(int task, int step);
  [[nodiscard]] double duration_now(int task, int step) const;
  void schedule_compute(int stream);
  void reserve(int rank, int sms);
  void mark_dirty(int rank);
  void recost(int rank);

  /// The fluid network counts them before the calls' flows.
  [[nodiscard]] int background_flows() const { return static_cast<int>(program_.background.size()); }
  void serve(int chain);
  void become_resident(int task, int step);
  void start_moving(int call, int step);
  void begin_fluid(int flow);
  void start_fluid(int flow, const CompiledCost& cost);
  void change_rate(int flow, double rate);
  void end_call(int flow);

  const Program& program_;
  const SimulateOptions& options_;
  int last_step_;
  StepNoise* noise_;
  Compiled plan_;
  Calendar calendar_;
  FluidNetwork fluid_;
  Picoseconds now_{};
  std::int64_t events_{};
  std::int64_t tasks_ended_{};
  int expected_steps_{1};
  double reported_{};

  std::vector<std::unique_ptr<StepState>> steps_;  ///< by step; empty before and after its time
  std::vector<std::unique_ptr<StepState>> spare_;
  int oldest_{};  ///< step that is still kept
  int keep_from_{};
  std::vector<Picoseconds> end_times_;  ///< of end_task, by step

  std::vector<Host> hosts_;
  std::vector<Running> running_;  ///< by stream slot
  std::vector<Chain> chains_;
  std::vector<Flow> flows_;
  std::vector<int> free_flows_;
  std::vector<RankState> ranks_;
  std::vector<int> dirty_ranks_;
  std::vector<FluidNetwork::RateChange> changes_;
};

}  // namespace stepcast::detail
