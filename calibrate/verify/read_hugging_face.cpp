#include <cmath>
#include <map>

#include "calibrate/verify/log_reader.hpp"

namespace stepcast {
namespace {

/// Progress bars of tqdm, " 12%|#2  | 120/1000 [03:05<22:30,  1.53s/it]" or "[..., 2.10it/s, loss=...]": the
/// smoothed time of a step at that moment. At the end the mean of the whole run, start-up included:
/// {'train_runtime': 273.0, 'train_samples_per_second': 3.66, 'train_steps_per_second': 0.007, ...}.
class HuggingFaceReader : public StepReader {
 public:
  void line(std::string_view text, unsigned number) override {
    if (text.find("train_runtime") != std::string_view::npos) summary(text, number);
    if (text.find("%|") != std::string_view::npos) bar(text, number);
    if (const auto steps = number_after(text, "Total optimization steps")) total_steps_ = steps;
  }
  /// Evaluation and preparation draw bars, too: the steps are those of the bar that ends at their number,
  /// else of the one that was drawn most often.
  void finish() override {
    const std::vector<LoggedStep>* chosen = nullptr;
    for (const auto& [total, steps] : bars_) {
      if (total == total_steps_) {
        chosen = &steps;
        break;
      }
      if (chosen == nullptr || steps.size() > chosen->size()) chosen = &steps;
    }
    if (chosen == nullptr) return;
    forget();
    notes_.clear();
    for (const LoggedStep& step : *chosen) add(step);
  }
  [[nodiscard]] std::string software() const override { return "Hugging Face Trainer"; }
  [[nodiscard]] std::string time_from() const override {
    return !bars_.empty() ? "progress bars" : "train_runtime over the number of steps";
  }

 private:
  void bar(std::string_view text, unsigned number) {
    const std::size_t open = text.find('['), close = text.find("/s", open), each = text.find("s/it", open);
    if (open == std::string_view::npos) return;
    const bool slow = each != std::string_view::npos;
    const std::size_t end = slow ? each : close;
    if (end == std::string_view::npos) return;
    const std::size_t comma = text.find(',', open);
    if (comma == std::string_view::npos || comma > end) return;
    const std::size_t digits = text.find_first_not_of(' ', comma + 1);
    const auto rate = leading_number(text.substr(digits));
    const std::size_t bar_end = text.rfind('|', open);
    if (!rate || !(*rate > 0) || bar_end == std::string_view::npos) return;
    const std::size_t start = text.find_first_not_of(' ', bar_end + 1);
    const auto count = leading_number(text.substr(start));
    if (!count || !(*count > 0)) return;
    if (!slow && text.substr(0, end).find("it", digits) == std::string_view::npos) return;  // downloads: MB/s
    const std::size_t slash = text.find('/', start);
    const auto total = slash < open ? leading_number(text.substr(slash + 1)) : std::nullopt;
    if (!total) return;
    LoggedStep step;
    step.line = number;
    step.number = static_cast<std::int64_t>(*count);
    step.time = Seconds(slow ? *rate : 1 / *rate);
    bars_[*total].push_back(std::move(step));
  }

  void summary(std::string_view text, unsigned number) {
    const auto runtime = number_after(text, "train_runtime"),
               samples = number_after(text, "train_samples_per_second"),
               steps = number_after(text, "train_steps_per_second");
    if (!bars_.empty() || !steps_.empty() || !runtime || !(*runtime > 0)) return;
    double count = total_steps_.value_or(0);
    if (count <= 0 && steps && *steps > 0) {
      // The rate has three decimals, which leave one whole number of steps, or the count is not known.
      const double low = std::ceil((*steps - 0.0005) * *runtime),
                   high = std::floor((*steps + 0.0005) * *runtime);
      count = low == high ? low : 0;
      if (count <= 0) count = *steps * *runtime;
    }
    if (!(count > 0)) return;
    LoggedStep step;
    step.line = number;
    step.number = static_cast<std::int64_t>(std::lround(count));
    step.time = Seconds(*runtime / count);
    if (samples) step.samples_per_s = samples;
    notes_ = {"one mean over the whole run of " + std::to_string(std::lround(count)) +
              " steps, start-up included: nothing can be left out as warm-up"};
    steps_.push_back(step);
  }

  std::map<double, std::vector<LoggedStep>> bars_;  ///< by their last number
  std::optional<double> total_steps_;
};

}  // namespace

std::unique_ptr<StepReader> hugging_face_reader() { return std::make_unique<HuggingFaceReader>(); }

}  // namespace stepcast
