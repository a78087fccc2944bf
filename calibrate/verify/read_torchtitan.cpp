#include "calibrate/verify/log_reader.hpp"

namespace stepcast {
namespace {

/// "step: 10  loss: 7.96  memory: 28.82GiB(36.4%)  tps: 5,762  tflops: 338.9  mfu: 34.3%"; tps (once wps) is
/// tokens per second of one device, the mean since the line before.
class TorchtitanReader : public StepReader {
 public:
  void line(std::string_view text, unsigned number) override {
    if (text.find("step:") == std::string_view::npos || text.find("loss:") == std::string_view::npos) return;
    const auto count = number_after(text, "step");
    auto rate = number_after(text, "tps");
    if (!rate) rate = number_after(text, "wps");
    if (!count || !rate || !(*rate > 0)) return;
    LoggedStep step;
    step.line = number;
    step.number = static_cast<std::int64_t>(*count);
    step.tokens_per_s_per_device = rate;
    step.loss = number_after(text, "loss");
    step.memory = memory_after(text, "memory");
    step.clock = clock_of(text);
    add(std::move(step));
  }
  [[nodiscard]] std::string software() const override { return "torchtitan"; }
  [[nodiscard]] std::string time_from() const override { return "tokens/s of a device (tps)"; }
};

}  // namespace

std::unique_ptr<StepReader> torchtitan_reader() { return std::make_unique<TorchtitanReader>(); }

}  // namespace stepcast
