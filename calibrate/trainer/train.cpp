#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "calibrate/trainer/network.hpp"
#include "calibrate/trainer/strategy.hpp"
#include "calibrate/trainer/trainer.hpp"

namespace stepcast {
namespace {

using Clock = std::chrono::steady_clock;

/// No step of what this trains takes longer, unless a rank hangs.
constexpr Seconds longest_step(600);

class Training {
 public:
  Training(const Model& model, const TrainingSection& training, Backend& backend, Meeting& meeting,
           const TrainOptions& options)
      : device_(backend.device()),
        meeting_(meeting),
        options_(options),
        graph_(read_graph(model)),
        clock_(device_) {
    const RankPlace& place = meeting.place();
    meeting.doing("preparing training", longest_step);
    (void)device_.take_peak_memory();
    StrategyInputs inputs{model,  training,           graph_,     backend,    clock_,
                          views_, training.precision, place.rank, place.size, options.seed};
    const bool fully = training.strategy == Strategy::zero3 || training.strategy == Strategy::fsdp ||
                       training.strategy == Strategy::hsdp;
    const bool replicated = training.strategy == Strategy::ddp || place.size == 1;
    strategy_ = fully        ? fully_sharded(inputs)
                : replicated ? bucket_replicated(inputs)
                             : bucket_sharded(inputs);
    if (model.measured) {
      network_ = paced_network(model, graph_, device_, training.micro_batch_size);
    } else {
      const BatchPlace batch{place.rank, place.size, training.micro_batch_size,
                             training.gradient_accumulation_steps};
      network_ = computed_network(graph_, device_, training.precision, batch, views_, options.seed,
                                  options.warm_up + options.steps);
    }
  }

  TrainedRun run() {
    TrainedRun run;
    Seconds last;
    end_of_step_ = Clock::now();
    for (int step = 0; step < options_.warm_up; ++step) last = take_step(step).time;
    const int steps = agreed_steps(last);
    meeting_.barrier();
    end_of_step_ = Clock::now();
    for (int step = 0; step < steps; ++step) {
      run.steps.push_back(take_step(options_.warm_up + step));
      if (options_.progress) options_.progress(step + 1, steps);
    }
    meeting_.doing("ending training", longest_step);
    average_losses(run);
    run.memory_peak = device_.take_peak_memory();
    run.exposed_known = device_.facts().compute_capability == 0 || meeting_.place().size == 1;
    meeting_.doing("", Seconds());
    return run;
  }

 private:
  TrainedStep take_step(int step) {
    meeting_.doing("training step " + std::to_string(step + 1), longest_step);
    strategy_->step(*network_, step);
    device_.synchronize();
    const Clock::time_point now = Clock::now();
    const StepClock::Parts parts = clock_.take();
    TrainedStep taken;
    taken.time = Seconds(std::chrono::duration<double>(now - end_of_step_).count());
    taken.exposed = parts.exposed;
    taken.optimizer = parts.optimizer;
    end_of_step_ = now;
    return taken;
  }

  /// As many as rank 0 finds time for, by the last step of the warm-up.
  int agreed_steps(Seconds one_step) {
    int steps = options_.steps;
    if (one_step > Seconds(0)) {
      const double affordable = options_.at_most / one_step;
      steps = static_cast<int>(std::min<double>(steps, std::max(3.0, affordable)));
    }
    return std::stoi(meeting_.broadcast(std::to_string(steps)));
  }

  /// Ranks have equally many samples: the global batch's loss is the mean of theirs.
  void average_losses(TrainedRun& run) {
    std::ostringstream own;
    own.precision(17);
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
      own << network_->loss(options_.warm_up + static_cast<int>(i)) << ' ';
    }
    std::vector<double> sums(run.steps.size());
    const std::vector<std::string> all = meeting_.gather(own.str());
    for (const std::string& text : all) {
      const char* place = text.c_str();
      char* end = nullptr;
      for (double& sum : sums) {
        sum += std::strtod(place, &end);  // reads "nan", too
        place = end;
      }
    }
    std::ostringstream means;
    means.precision(17);
    for (const double sum : sums)
      means << sum / static_cast<double>(std::max<std::size_t>(1, all.size())) << ' ';
    const std::string agreed = meeting_.broadcast(means.str());
    const char* place = agreed.c_str();
    char* end = nullptr;
    for (TrainedStep& step : run.steps) {
      step.loss = std::strtod(place, &end);
      place = end;
    }
  }

  ComputeDevice& device_;
  Meeting& meeting_;
  const TrainOptions& options_;
  Graph graph_;
  StepClock clock_;
  ParameterViews views_;
  std::unique_ptr<TrainingStrategy> strategy_;
  std::unique_ptr<Network> network_;
  Clock::time_point end_of_step_;
};

}  // namespace

TrainedRun train(const Model& model, const TrainingSection& training, Backend& backend, Meeting& meeting,
                 const TrainOptions& options) {
  const std::string reason = cannot_train(model, training, backend.device());
  if (!reason.empty()) throw std::invalid_argument(reason);
  return Training(model, training, backend, meeting, options).run();
}

}  // namespace stepcast
