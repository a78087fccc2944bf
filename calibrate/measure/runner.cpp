#include "calibrate/measure/runner.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/document.hpp"
#include "calibrate/measure/budget.hpp"
#include "calibrate/measure/measured_json.hpp"
#include "calibrate/measure/rank_readings.hpp"

namespace stepcast {
namespace {

constexpr int most_calls = 2000;
/// Collectives beside a batch of gemms last longer than it by so much.
constexpr double companion_reserve = 1.5;
constexpr Seconds sustained_sample(0.05);

/// A rank that is silent for longer hangs: generous, as expectations may be wrong by far.
Seconds time_limit(const PlannedMeasurement& planned) { return Seconds(60) + 30 * planned.expected; }

/// Rank 0's plan, on all ranks.
std::vector<PlannedMeasurement> share_plan(const std::vector<PlannedMeasurement>& plan, Meeting& meeting) {
  std::string lines;
  for (const PlannedMeasurement& planned : plan) lines += to_json_line(planned) + "\n";
  std::istringstream text(meeting.broadcast(lines));
  std::vector<PlannedMeasurement> shared;
  for (std::string line; std::getline(text, line);) shared.push_back(planned_of(parse_json(line, "plan")));
  return shared;
}

std::vector<Measurement> measurements_of(const std::vector<PlannedMeasurement>& plan) {
  std::vector<Measurement> measurements;
  for (const PlannedMeasurement& planned : plan) measurements.push_back(planned.what);
  return measurements;
}

OperandSizes largest_operands(const std::vector<PlannedMeasurement>& plan, const ComputeDevice& device) {
  OperandSizes largest;
  for (const PlannedMeasurement& planned : plan) largest.raise_to(operand_sizes(planned.what, &device));
  return largest;
}

class Runner {
 public:
  Runner(std::vector<PlannedMeasurement> plan, Backend& backend, Meeting& meeting,
         const RunnerOptions& options)
      : plan_(std::move(plan)),
        meeting_(meeting),
        options_(options),
        device_(backend.device()),
        leads_(meeting.place().rank == 0),
        rule_(sampling_rule(device_.facts(), options.measuring)),
        workbench_(device_, largest_operands(plan_, device_)),
        communicators_(measurements_of(plan_), backend, meeting.place()),
        budget_(options.measuring.budget, plan_, options.clock()) {}

  CalibrationRun run() {
    for (std::size_t i = 0; i < plan_.size() && !run_.stopped; ++i) {
      const bool wanted = agreed(budget_.allows(i, options_.clock()) ? 1 : 0) == 1;
      if (!wanted) {
        if (leads_) run_.left_out.push_back(plan_[i].what);
        continue;
      }
      meeting_.doing(describe(plan_[i].what), time_limit(plan_[i]));
      if (leads_ && options_.progress) {
        const auto size = static_cast<int>(plan_.size());
        options_.progress({static_cast<int>(i), size, budget_.expected_from(i), plan_[i].what});
      }
      measure(i);
      meeting_.doing("", {});
    }
    return std::move(run_);
  }

 private:
  /// Rank 0's number, on all ranks.
  int agreed(int of_rank_0) { return std::stoi(meeting_.broadcast(leads_ ? std::to_string(of_rank_0) : "")); }

  /// Takes samples on all ranks and adds them to rank 0's.
  void take(Sampler* sampler, const BatchSize& batch, int count, RankReadings& samples) {
    std::vector<Reading> readings;
    for (int i = 0; sampler && i < count; ++i) readings.push_back(sampler->sample(batch));
    const bool stop = options_.stop && options_.stop();
    const std::vector<std::string> texts = meeting_.gather((stop ? "s" : "g") + to_text(readings));
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
      if (texts[rank].front() == 's') stop_asked_ = true;
      samples.add(static_cast<int>(rank), readings_of(texts[rank].substr(1)));
    }
  }

  /// One or two batches whose times don't count but for the size of the batches that do.
  BatchSize warm_up(std::size_t index, Sampler* sampler) {
    BatchSize batch;
    for (bool again = true; again;) {
      RankReadings samples(meeting_.place().size);
      take(sampler, batch, 1, samples);
      int calls = 0, companions = 0;
      if (leads_) {
        const Seconds one = samples.largest(&Reading::time);
        calls = calls_of(plan_[index].what, one);
        const Seconds call = samples.smallest(&Reading::call);
        const double beside = call.value > 0 ? companion_reserve * calls * (one / call) : 0;
        companions = 1 + static_cast<int>(std::min<double>(most_calls, std::ceil(beside)));
        budget_.learn(index, one);
      }
      calls = agreed(calls);
      // A first call is slower than others; where it is short, measure it again.
      again = batch.calls == 1 && calls > 1;
      batch.calls = calls;
      batch.companions = agreed(companions);
    }
    return batch;
  }

  int calls_of(const Measurement& what, Seconds one) const {
    const Seconds batch = what.kind == Measurement::Kind::sustained ? sustained_sample : rule_.batch;
    if (one.value <= 0) return most_calls;
    return static_cast<int>(std::clamp(std::ceil(batch / one), 1.0, static_cast<double>(most_calls)));
  }

  void measure(std::size_t index) {
    const Measurement& what = plan_[index].what;
    const bool sustained = what.kind == Measurement::Kind::sustained;
    const std::unique_ptr<Sampler> sampler =
        make_sampler(what, device_, workbench_, communicators_, options_.clock);
    meeting_.barrier();
    const Seconds start = options_.clock();
    const Seconds end = sustained ? start + sustained_time(device_.facts(), options_.measuring)
                                  : budget_.end_of(index, start);
    const BatchSize batch = warm_up(index, sampler.get());
    RankReadings samples(meeting_.place().size);
    for (int count = rule_.least; count > 0;) {
      take(sampler.get(), batch, count, samples);
      count = agreed(leads_ ? more(what, samples, end) : 0);
    }
    if (leads_) {
      if (sustained) samples.drop_first_half();
      Measured measured = samples.result(what);
      if (sampler) measured.facts = sampler->facts();
      if (options_.keep) options_.keep(measured);
      run_.results.push_back(std::move(measured));
    }
    run_.stopped = agreed(stop_asked_ ? 1 : 0) == 1;
  }

  /// How many samples more; 0: enough.
  int more(const Measurement& what, const RankReadings& samples, Seconds end) const {
    const Seconds now = options_.clock();
    if (now >= end) return 0;
    if (what.kind == Measurement::Kind::sustained) return rule_.least;
    if (samples.count() >= rule_.most) return 0;
    const Location location = samples.slowest(what.kind == Measurement::Kind::collective);
    if (location.uncertainty() <= rule_.tolerance) return 0;
    return std::min(rule_.least, rule_.most - samples.count());
  }

  std::vector<PlannedMeasurement> plan_;
  Meeting& meeting_;
  const RunnerOptions& options_;
  ComputeDevice& device_;
  bool leads_;
  SamplingRule rule_;
  Workbench workbench_;
  PlanCommunicators communicators_;
  Budget budget_;
  CalibrationRun run_;
  bool stop_asked_{};
};

}  // namespace

CalibrationRun run_plan(const std::vector<PlannedMeasurement>& plan, Backend& backend, Meeting& meeting,
                        const RunnerOptions& options) {
  try {
    meeting.doing("preparing to measure", Seconds(300));
    Runner runner(share_plan(plan, meeting), backend, meeting, options);
    meeting.doing("", {});
    return runner.run();
  } catch (const std::exception& error) {
    meeting.abandon(error.what());
    throw;
  }
}

}  // namespace stepcast
