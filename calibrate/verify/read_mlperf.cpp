#include "base/document.hpp"
#include "calibrate/verify/log_reader.hpp"

namespace stepcast {
namespace {

/// `:::MLLOG {"time_ms": ..., "key": "block_start", "value": "training_step", "metadata": {"step_num": 100}}`
/// to the block_stop of step 200: a hundred steps. Other submissions count samples of a block
/// ("samples_count"), or log "tracked_stats" with "throughput" (samples/s) or "train_step_time" (s).
class MlperfReader : public StepReader {
 public:
  void line(std::string_view text, unsigned number) override {
    constexpr std::string_view mark = ":::MLLOG";
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) return;
    Value event;
    try {
      event = parse_json(text.substr(at + mark.size()), "log");
    } catch (const ScenarioError&) {
      return;  // torn by another rank's line
    }
    const Value* key = event.find("key");
    const Value* time = event.find("time_ms");
    if (key == nullptr || time == nullptr || !time->is_number()) return;
    if (key->string == "global_batch_size") {
      if (const Value* value = event.find("value"); value != nullptr && value->is_number())
        batch_ = value->real;
    } else if (key->string == "block_start" && !of_evaluation(event)) {
      start_ = Mark{time->real, figure(event, "step_num"), figure(event, "samples_count")};
    } else if (key->string == "block_stop" && start_ && !of_evaluation(event)) {
      end_block(event, time->real, number);
    } else if (key->string == "tracked_stats") {
      tracked(event, number);
    } else if (key->string == "loss" && !of_evaluation(event)) {
      if (const Value* value = event.find("value"); value != nullptr && value->is_number())
        loss_ = value->real;
    }
  }
  [[nodiscard]] std::string software() const override { return "MLPerf log"; }
  [[nodiscard]] std::string time_from() const override {
    return tracked_ ? "tracked_stats" : "block_start to block_stop, divided by their steps";
  }

 private:
  struct Mark {
    double time_ms{};
    std::optional<double> step, samples;
  };

  static bool of_evaluation(const Value& event) {
    const Value* value = event.find("value");
    return value != nullptr && (value->string.find("valid") != std::string::npos ||
                                value->string.find("eval") != std::string::npos);
  }
  static std::optional<double> figure(const Value& event, std::string_view name) {
    const Value* metadata = event.find("metadata");
    const Value* value = metadata == nullptr ? nullptr : metadata->find(name);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    return value->real;
  }

  void end_block(const Value& event, double time_ms, unsigned number) {
    const auto end = figure(event, "step_num"), samples = figure(event, "samples_count");
    double steps = 0;
    if (end && start_->step) steps = *end - *start_->step;
    // A block's samples are counted at both of its ends, or only at one of them as its size.
    if (steps <= 0 && samples && start_->samples && batch_) steps = (*samples - *start_->samples) / *batch_;
    LoggedStep step;
    step.line = number;
    step.number = static_cast<std::int64_t>(end.value_or(static_cast<double>(steps_.size() + 1)));
    step.samples = batch_;
    step.loss = loss_;
    if (steps > 0 && time_ms > start_->time_ms) {
      step.time = from_milliseconds((time_ms - start_->time_ms) / steps);
      add(std::move(step));
    }
    start_.reset();
  }

  void tracked(const Value& event, unsigned number) {
    const Value* stats = event.find("value");
    if (stats == nullptr) return;
    LoggedStep step;
    step.line = number;
    step.number =
        static_cast<std::int64_t>(figure(event, "step").value_or(static_cast<double>(steps_.size() + 1)));
    step.samples = batch_;
    if (const Value* time = stats->find("train_step_time"); time != nullptr && time->is_number())
      step.time = Seconds(time->real);
    if (const Value* rate = stats->find("throughput"); rate != nullptr && rate->is_number())
      step.samples_per_s = rate->real;
    if (!step.time && !step.samples_per_s) return;
    if (!tracked_) forget();  // finer than blocks
    tracked_ = true;
    add(std::move(step));
  }

  std::optional<Mark> start_;
  std::optional<double> batch_, loss_;
  bool tracked_{};
};

}  // namespace

std::unique_ptr<StepReader> mlperf_reader() { return std::make_unique<MlperfReader>(); }

}  // namespace stepcast
