#include "calibrate/verify/training_log.hpp"

#include <algorithm>
#include <cmath>

#include "base/document.hpp"
#include "calibrate/verify/log_reader.hpp"

namespace stepcast {
namespace {

/// Colours are "ESC [ numbers m".
std::string without_colours(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\033') {
      plain += text[i];
      continue;
    }
    while (i < text.size() && text[i] != 'm' && text[i] != 'K') ++i;
  }
  return plain;
}

std::string fixed(double value) {
  std::string text = std::to_string(value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

class LogMaker {
 public:
  LogMaker(TrainingLog& log, const BatchHint& hint) : log_(log), hint_(hint) {}

  /// Rates become times: by the log's own batch, else by the clock of the lines, else by the scenario's
  /// batch.
  void set_times() {
    std::vector<LoggedStep>& steps = log_.steps;
    if (std::all_of(steps.begin(), steps.end(), [](const LoggedStep& step) { return step.time.has_value(); }))
      return;
    if (by_rates(log_.facts.samples_per_step().value_or(0), log_.facts.sequence_length.value_or(0),
                 samples_per_device())) {
      log_.time_from += " and the log's batch";
    } else if (by_clock()) {
      log_.time_from = "times at the start of lines, over the steps between them";
      deduce_batch();
    } else if (by_rates(hint_.samples_per_step, hint_.tokens_per_sample, hint_.samples_per_device)) {
      log_.time_from += " and the scenario's batch";
      log_.notes.push_back("the log does not say its batch: rates were made times by the scenario's");
    }
    std::erase_if(steps, [](const LoggedStep& step) { return !step.time; });
  }

 private:
  [[nodiscard]] double samples_per_device() const {
    if (!log_.facts.micro_batch_size) return 0;
    // Rates of a device divide by all devices, also those that share its samples.
    return static_cast<double>(*log_.facts.micro_batch_size) *
           log_.facts.gradient_accumulation_steps.value_or(1) /
           (log_.facts.tensor_parallel.value_or(1) * log_.facts.pipeline_parallel.value_or(1));
  }

  bool by_rates(double samples, double length, double device_samples) {
    bool any = false;
    for (LoggedStep& step : log_.steps) {
      if (step.time) continue;
      double work = 0, rate = 0;
      if (step.samples_per_s) {
        work = step.samples.value_or(samples);
        rate = *step.samples_per_s;
      } else if (step.tokens_per_s) {
        work = step.tokens.value_or(samples * length);
        rate = *step.tokens_per_s;
      } else if (step.tokens_per_s_per_device) {
        work = device_samples * length;
        rate = *step.tokens_per_s_per_device;
      }
      if (!(work > 0) || !(rate > 0)) continue;
      step.time = Seconds(work / rate);
      any = true;
    }
    return any;
  }

  bool by_clock() {
    bool any = false;
    for (std::size_t i = 1; i < log_.steps.size(); ++i) {
      LoggedStep& step = log_.steps[i];
      const LoggedStep& before = log_.steps[i - 1];
      const auto count = static_cast<double>(step.number - before.number);
      if (!step.clock || !before.clock || count <= 0 || *step.clock <= *before.clock) continue;
      step.time = Seconds((*step.clock - *before.clock) / count);
      any = true;
    }
    return any;
  }

  /// Rate times time.
  void deduce_batch() {
    std::vector<double> batches;
    for (const LoggedStep& step : log_.steps)
      if (step.time && step.samples_per_s) batches.push_back(*step.samples_per_s * step.time->value);
    if (batches.empty() || log_.facts.global_batch_size) return;
    std::nth_element(batches.begin(), batches.begin() + static_cast<std::ptrdiff_t>(batches.size() / 2),
                     batches.end());
    const double batch = batches[batches.size() / 2];
    constexpr double same = 0.02;  // clocks and rates of one line differ by its own printing
    if (std::abs(batch / std::round(batch) - 1) > same || !(batch > 1)) return;
    log_.facts.global_batch_size = static_cast<int>(std::lround(batch));
    log_.notes.push_back("global batch of about " + fixed(std::round(batch)) +
                         " samples: samples/s times the time between lines");
  }

  TrainingLog& log_;
  const BatchHint& hint_;
};

/// What the allocator peaked at by the steps of the reader that is believed; of the others where it says
/// nothing, for it is the same job that they tell of.
std::optional<Bytes> greatest_memory(const std::vector<std::unique_ptr<StepReader>>& readers,
                                     const StepReader& believed) {
  std::optional<Bytes> own, others;
  for (const auto& reader : readers) {
    std::optional<Bytes>& greatest = reader.get() == &believed ? own : others;
    for (const LoggedStep& step : reader->steps())
      if (step.memory) greatest = std::max(greatest.value_or(Bytes()), *step.memory);
  }
  return own ? own : others;
}

[[noreturn]] void nothing_found(const std::string& file, const std::vector<std::string>& complaints) {
  SourcePlace place;
  place.file = file;
  place.line = place.column = 1;
  std::string message = "no step times in this log";
  for (const std::string& complaint : complaints) message += ": " + complaint;
  throw ScenarioError(Diagnostic{
      place, message,
      complaints.empty()
          ? "lines that are understood: \"elapsed time per iteration (ms): 87.0\" (Megatron and its kin), "
            "\"CurrSamplesPerSec=8.0\" and \"time (ms) | forward_microstep: ...\" (DeepSpeed), "
            "\"'train_runtime': 273.0\" and progress bars (Hugging Face), \"step: 10 loss: 7.9 ... tps: "
            "5,762\" "
            "(torchtitan), \"iter 340: loss 5.5, time 33785.52ms\" (nanoGPT), \"291.12 ms | ... tok/s\" "
            "(llm.c), \":::MLLOG\" (MLPerf)"
          : ""});
}

}  // namespace

TrainingLog parse_training_log(std::string_view text, const std::string& file, const BatchHint& hint) {
  TrainingLog log;
  log.file = file;
  const std::vector<std::unique_ptr<StepReader>> readers = step_readers();
  unsigned number = 1;
  std::string plain;
  while (!text.empty()) {
    // A carriage return draws a progress bar anew: a line to us, none to editors.
    const std::size_t end = text.find_first_of("\r\n");
    std::string_view line = text.substr(0, end);
    if (line.find('\033') != std::string_view::npos) {
      plain = without_colours(line);
      line = plain;
    }
    read_facts(line, log.facts);
    for (const auto& reader : readers) reader->line(line, number);
    if (end == std::string_view::npos) break;
    if (text[end] == '\n') ++number;
    text.remove_prefix(end + 1);
  }

  std::vector<std::string> complaints;
  for (const auto& reader : readers) reader->finish();
  for (const auto& reader : readers) {
    if (const std::string complaint = reader->complaint(); !complaint.empty())
      complaints.push_back(complaint);
    if (reader->steps().empty() && reader->micro_steps().empty()) continue;
    log.software = reader->software();
    log.steps = reader->steps();
    log.time_from = reader->time_from();
    log.micro_steps = reader->micro_steps();
    log.notes = reader->notes();
    log.memory = greatest_memory(readers, *reader);
    LogMaker(log, hint).set_times();
    if (!log.steps.empty() || !log.micro_steps.empty()) break;
  }
  if (log.steps.empty() && log.micro_steps.empty()) nothing_found(file, complaints);
  if (!log.steps.empty() && log.steps.back().samples && !log.facts.global_batch_size)
    log.facts.global_batch_size = static_cast<int>(std::lround(*log.steps.back().samples));
  return log;
}

TrainingLog read_training_log(const std::string& file, const BatchHint& hint) {
  return parse_training_log(read_file(file), file, hint);
}

}  // namespace stepcast
