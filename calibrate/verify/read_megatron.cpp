#include "calibrate/verify/log_reader.hpp"

namespace stepcast {
namespace {

/// " iteration       25/73242187 | consumed samples: 50 | elapsed time per iteration (ms): 87.0 | ...": the
/// mean of the iterations since the line before. Its memory stands on a line of its own, in MiB: "[Rank 0]
/// (after 10 iterations) memory (MB) | allocated: 17956.5 | max allocated: 68581.8 | ...".
class MegatronReader : public StepReader {
 public:
  void line(std::string_view text, unsigned number) override {
    if (text.find("DeepSpeed") != std::string_view::npos || text.find("deepspeed") != std::string_view::npos)
      deepspeed_ = true;
    if (text.find("iterations") != std::string_view::npos &&
        text.find("max allocated:") != std::string_view::npos) {
      if (const auto memory = number_after(text, "max allocated"); memory && !steps_.empty())
        steps_.back().memory = mebibytes(*memory);
    }
    const auto time = number_after(text, "elapsed time per iteration (ms)");
    const auto iteration = number_after(text, "iteration");
    if (!time || !iteration || !(*time > 0)) return;
    LoggedStep step;
    step.line = number;
    step.number = static_cast<std::int64_t>(*iteration);
    step.time = from_milliseconds(*time);
    step.samples = number_after(text, "global batch size");
    const auto length = number_after(text, "actual seqlen");
    if (step.samples && length) step.tokens = *step.samples * *length;
    step.samples_per_s = number_after(text, "samples per second");
    if (const auto rate = number_after(text, "samples/sec")) {
      neox_ = true;
      step.samples_per_s = rate;
    }
    step.loss = number_after(text, "lm loss");
    if (!step.loss) step.loss = number_after(text, "lm_loss");
    add(std::move(step));
  }

  [[nodiscard]] std::string software() const override {
    return neox_ ? "GPT-NeoX" : deepspeed_ ? "Megatron-DeepSpeed" : "Megatron-LM";
  }
  [[nodiscard]] std::string time_from() const override { return "elapsed time per iteration"; }

 private:
  bool deepspeed_{}, neox_{};
};

}  // namespace

std::unique_ptr<StepReader> megatron_reader() { return std::make_unique<MegatronReader>(); }

}  // namespace stepcast
