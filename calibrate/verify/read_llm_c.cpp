#include <cctype>

#include "calibrate/verify/log_reader.hpp"

namespace stepcast {
namespace {

/// "step    5/19560 | loss 10.99 (+nanz)| norm 15.3 (+nanz)| lr 4.29e-06 | 291.12 ms | 57.6% bf16 MFU |
/// 1800345 tok/s", and before that "step 5/74: train loss 4.36 (132.12 ms, 31007 tok/s)". Its main.log holds
/// "s:5 trl:10.42 lr:0.000005 norm:8.49", without times.
class LlmCReader : public StepReader {
 public:
  void line(std::string_view text, unsigned number) override {
    if (text.substr(0, 2) == "s:" && text.find(" trl:") != std::string_view::npos && timeless_line_ == 0)
      timeless_line_ = number;
    const std::size_t unit = text.find(" ms");
    const std::size_t rate = text.find(" tok/s");
    if (unit == std::string_view::npos || rate == std::string_view::npos || rate < unit) return;
    const auto count = number_after(text, "step");
    const auto time = number_before(text, unit);
    const auto tokens = number_before(text, rate);
    if (!count || !time || !(*time > 0)) return;
    LoggedStep step;
    step.line = number;
    step.number = static_cast<std::int64_t>(*count);
    step.time = from_milliseconds(*time);
    step.tokens_per_s = tokens;
    step.loss = number_after(text, "loss");
    add(std::move(step));
  }
  [[nodiscard]] std::string software() const override { return "llm.c"; }
  [[nodiscard]] std::string time_from() const override { return "milliseconds of each step"; }
  [[nodiscard]] std::string complaint() const override {
    if (timeless_line_ == 0) return "";
    return "lines like that of line " + std::to_string(timeless_line_) +
           " (\"s:... trl:...\") are llm.c's main.log, which holds losses and no times; what llm.c prints to "
           "the terminal does (\"step 1/19560 | loss ... | 291.12 ms | ... tok/s\")";
  }

 private:
  static std::optional<double> number_before(std::string_view text, std::size_t end) {
    std::size_t start = end;
    while (start > 0 && (std::isdigit(static_cast<unsigned char>(text[start - 1])) != 0 ||
                         text[start - 1] == '.' || text[start - 1] == ','))
      --start;
    return leading_number(text.substr(start, end - start));
  }
  unsigned timeless_line_{};
};

}  // namespace

std::unique_ptr<StepReader> llm_c_reader() { return std::make_unique<LlmCReader>(); }

}  // namespace stepcast
