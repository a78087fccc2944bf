#include "calibrate/verify/log_reader.hpp"

namespace stepcast {
namespace {

/// "iter 340: loss 5.4983, time 33785.52ms, mfu 0.96%": that one iteration. mfu is of an A100, whatever the
/// GPU is. "tokens per iteration will be: 262,144" comes first.
class NanogptReader : public StepReader {
 public:
  void line(std::string_view text, unsigned number) override {
    if (const auto tokens = number_after(text, "tokens per iteration will be")) tokens_ = tokens;
    if (text.find("iter ") == std::string_view::npos || text.find("ms") == std::string_view::npos) return;
    const auto count = number_after(text, "iter");
    const auto time = number_after(text, "time");
    if (!count || !time || !(*time > 0)) return;
    LoggedStep step;
    step.line = number;
    step.number = static_cast<std::int64_t>(*count);
    step.time = from_milliseconds(*time);
    step.loss = number_after(text, "loss");
    step.tokens = tokens_;
    add(std::move(step));
  }
  [[nodiscard]] std::string software() const override { return "nanoGPT"; }
  [[nodiscard]] std::string time_from() const override { return "time of each logged iteration"; }

 private:
  std::optional<double> tokens_;
};

}  // namespace

std::unique_ptr<StepReader> nanogpt_reader() { return std::make_unique<NanogptReader>(); }

}  // namespace stepcast
