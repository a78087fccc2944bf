// How many questions a second: whole points of a scenario, from Scenario to PointReport, on one thread.
#include <benchmark/benchmark.h>

#include "sim/report/report.hpp"

namespace stepcast {
namespace {

/// One 32-GPU point of a 32-layer model, everything that points share already memoized, as in a sweep.
void predict_llama_8b_on_32_gpus(benchmark::State& state, const std::string& strategy, int accumulation) {
  const ScenarioFile file =
      load_scenario(STEPCAST_SOURCE_DIR "/scenarios/8-to-32.toml",
                    {{"cluster.nodes", "4"},
                     {"cluster.fabric", "infiniband-400g"},
                     {"training.strategy", strategy},
                     {"training.gradient_accumulation_steps", std::to_string(accumulation)}});
  const Scenario scenario = *expand(file).front().scenario;
  Predictor predictor;
  std::int64_t events = 0;
  for (auto _ : state) events += predictor.predict(scenario).events;
  state.SetItemsProcessed(state.iterations());  // items/s: points a second
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(predict_llama_8b_on_32_gpus, ddp, "ddp", 4)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_llama_8b_on_32_gpus, zero1, "zero1", 4)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_llama_8b_on_32_gpus, zero2, "zero2", 4)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_llama_8b_on_32_gpus, zero3, "zero3", 4)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_llama_8b_on_32_gpus, fsdp, "fsdp", 16)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict_llama_8b_on_32_gpus, hsdp, "hsdp", 16)->Unit(benchmark::kMillisecond);

/// The main job: 90 points and their baselines on all cores, file to report.
void run_8_to_32(benchmark::State& state) {
  std::int64_t points = 0;
  for (auto _ : state) {
    const ScenarioFile file = load_scenario(STEPCAST_SOURCE_DIR "/scenarios/8-to-32.toml", {});
    points += static_cast<std::int64_t>(run(file, {}).points.size());
  }
  state.SetItemsProcessed(points);
}
BENCHMARK(run_8_to_32)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace stepcast
