#include "calibrate/verify/log_reader.hpp"

namespace stepcast {
namespace {

/// Throughput lines, "epoch=0/micro_step=34/global_step=34, RunningAvgSamplesPerSec=7.86,
/// CurrSamplesPerSec=8.01, MemAllocated=59.65GB, MaxMemAllocated=63.31GB": samples of the global batch over
/// the time of the last step. With wall_clock_breakdown also timers, "rank=0 time (ms) | forward: 652.41 |
/// backward: 2164.52 | ... | step: 1172.13" (newer: fwd, bwd), which leave out what lies between the three,
/// and the same of each micro-step ("forward_microstep").
class DeepspeedReader : public StepReader {
 public:
  void line(std::string_view text, unsigned number) override {
    if (text.find("SamplesPerSec=") != std::string_view::npos) {
      throughput(text, number);
    } else if (text.find("time (ms)") != std::string_view::npos) {
      timers(text, number);
    }
  }
  [[nodiscard]] std::string software() const override { return "DeepSpeed"; }
  [[nodiscard]] std::string time_from() const override {
    return of_timers_ ? "timers: forward + backward + step" : "CurrSamplesPerSec";
  }
  [[nodiscard]] std::vector<Seconds> micro_steps() const override { return micro_steps_; }

 private:
  void throughput(std::string_view text, unsigned number) {
    const auto count = number_after(text, "global_step");
    const auto rate = number_after(text, "CurrSamplesPerSec");
    if (!count || !rate || !(*rate > 0)) return;
    if (of_timers_) forget();
    of_timers_ = false;
    of_throughput_ = true;
    LoggedStep step;
    step.line = number;
    step.number = static_cast<std::int64_t>(*count);
    step.samples_per_s = rate;
    step.memory = memory_after(text, "MaxMemAllocated");
    step.clock = clock_of(text);
    add(std::move(step));
  }

  void timers(std::string_view text, unsigned number) {
    const auto sum = [&](const char* forward, const char* backward, const char* update) {
      const auto first = number_after(text, forward), second = number_after(text, backward),
                 third = number_after(text, update);
      if (!first || !second || !third) return std::optional<Seconds>();
      return std::optional(from_milliseconds(*first + *second + *third));
    };
    auto micro_step = sum("forward_microstep", "backward_microstep", "step_microstep");
    if (!micro_step) micro_step = sum("fwd_microstep", "bwd_microstep", "step_microstep");
    if (micro_step) micro_steps_.push_back(*micro_step);
    auto whole = sum("forward", "backward", "step");
    if (!whole) whole = sum("fwd", "bwd", "step");
    if (!whole || of_throughput_) return;
    of_timers_ = true;
    LoggedStep step;
    step.line = number;
    step.number = static_cast<std::int64_t>(steps_.size() + 1);
    step.time = whole;
    steps_.push_back(std::move(step));
  }

  std::vector<Seconds> micro_steps_;
  bool of_timers_{}, of_throughput_{};
};

}  // namespace

std::unique_ptr<StepReader> deepspeed_reader() { return std::make_unique<DeepspeedReader>(); }

}  // namespace stepcast
