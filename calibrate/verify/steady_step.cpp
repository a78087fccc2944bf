#include "calibrate/verify/steady_step.hpp"

#include <algorithm>
#include <cmath>

#include "base/print.hpp"

namespace stepcast {

Seconds quantile(std::vector<Seconds> times, double share) {
  STEPCAST_CHECK(!times.empty(), "a quantile of nothing");
  std::sort(times.begin(), times.end());
  const double place = share * static_cast<double>(times.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, times.size() - 1);
  return times[below] + (place - static_cast<double>(below)) * (times[above] - times[below]);
}

SteadyStep steady_step(const std::vector<Seconds>& times) {
  constexpr double warm = 1.1;
  const std::vector<Seconds> second_half(times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                                         times.end());
  const Seconds usual = quantile(second_half, 0.5);
  std::size_t first = 0;
  while (first < times.size() / 2 && times[first] > warm * usual) ++first;
  const std::vector<Seconds> counted(times.begin() + static_cast<std::ptrdiff_t>(first), times.end());
  return {quantile(counted, 0.05), quantile(counted, 0.5), quantile(counted, 0.95),
          static_cast<int>(counted.size()), static_cast<int>(first)};
}

SteadyStep steady_step(const TrainingLog& log, const Scenario& scenario, std::vector<std::string>& notes) {
  std::vector<Seconds> times;
  for (const LoggedStep& step : log.steps) times.push_back(*step.time);
  if (times.empty()) {
    const int count = scenario.training.gradient_accumulation_steps;
    for (const Seconds time : log.micro_steps) times.push_back(count * time);
    notes.push_back(
        "the log times micro-steps only: a step is taken as " + std::to_string(count) +
        " of them, as the scenario's gradient_accumulation_steps says" +
        (log.facts.gradient_accumulation_steps.value_or(count) == count ? "" : ", and the log doesn't"));
  }
  const SteadyStep steady = steady_step(times);
  if (steady.warm_up > 0) {
    const auto first = times.begin();
    notes.push_back(std::to_string(steady.warm_up) + " of " + std::to_string(times.size()) +
                    " times at the start are left out as warm-up: they are longer by a tenth than the "
                    "others (" +
                    print_time(*std::max_element(first, first + steady.warm_up)) + " against " +
                    print_time(steady.p50) + ")");
  }
  return steady;
}

std::vector<std::string> contradictions(const TrainingLog& log, const Scenario& scenario,
                                        std::int64_t sequence_length) {
  std::vector<std::string> found;
  const auto compare = [&](const std::string& what, std::optional<double> logged, double asked,
                           const std::string& key) {
    if (!logged || !(asked > 0) || *logged == asked) return;
    found.push_back("the log says " + what + " " + print_integer(*logged) + ", the scenario " +
                    print_integer(asked) + " (" + key + ")");
  };
  const LogFacts& facts = log.facts;
  const TrainingSection& training = scenario.training;
  const auto number = [](const std::optional<int>& fact) {
    return fact ? std::optional<double>(*fact) : std::nullopt;
  };
  compare("GPUs:", number(facts.devices()), scenario.gpus(), "cluster.nodes, cluster.gpus_per_node");
  const bool same_devices = !facts.devices() || *facts.devices() == scenario.gpus();
  if (same_devices)
    compare("data-parallel ranks:", number(facts.data_parallel_size), scenario.data_parallel_size(),
            "all GPUs: tensor and pipeline parallelism are not built yet");
  compare("tensor parallelism over", number(facts.tensor_parallel), 1, "training.tensor_parallel");
  compare("pipeline stages:", number(facts.pipeline_parallel), 1, "training.pipeline_parallel");
  compare("samples per micro-batch:", number(facts.micro_batch_size), training.micro_batch_size,
          "training.micro_batch_size");
  compare("micro-batches per step:", number(facts.gradient_accumulation_steps),
          training.gradient_accumulation_steps, "training.gradient_accumulation_steps");
  compare("samples per step:", facts.samples_per_step(), static_cast<double>(scenario.global_batch_size()),
          "training.global_batch_size");
  compare("tokens per sample:", number(facts.sequence_length), static_cast<double>(sequence_length),
          "model.sequence_length");
  const bool told = facts.samples_per_step() && facts.sequence_length;
  if (!told && !log.steps.empty() && log.steps.back().tokens && sequence_length > 0)
    compare("tokens per step:", log.steps.back().tokens,
            static_cast<double>(scenario.global_batch_size() * sequence_length),
            "training.global_batch_size x model.sequence_length");
  if (facts.zero_stage) {
    const Strategy strategy = training.strategy;
    const int stage = strategy == Strategy::ddp     ? 0
                      : strategy == Strategy::zero1 ? 1
                      : strategy == Strategy::zero2 ? 2
                                                    : 3;
    if (stage != *facts.zero_stage)
      found.push_back("the log says ZeRO stage " + std::to_string(*facts.zero_stage) +
                      ", the scenario strategy \"" + std::string(name_of(strategy)) +
                      "\" (training.strategy)");
  }
  return found;
}

}  // namespace stepcast
