#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace stepcast {

/// One line of a training log that tells how fast it goes: of one optimizer step, or of the mean of several.
struct LoggedStep {
  unsigned line{};                                                 ///< of the file, from 1
  std::int64_t number{};                                           ///< of the step, as the log counts
  std::optional<Seconds> time;                                     ///< of one step
  std::optional<double> samples_per_s, tokens_per_s;               ///< of all devices
  std::optional<double> tokens_per_s_per_device, samples, tokens;  ///< samples, tokens: of one step
  std::optional<double> loss;
  std::optional<Bytes> memory;  ///< peak of the allocator so far
  std::optional<double> clock;  ///< when the line was written, in seconds since 1970
};

/// What a log says of the job. Nothing where it doesn't.
struct LogFacts {
  std::optional<int> world_size, data_parallel_size, tensor_parallel, pipeline_parallel;
  std::optional<int> micro_batch_size, gradient_accumulation_steps, global_batch_size, sequence_length;
  std::optional<int> zero_stage;

  /// world_size, or the product of the parallel sizes.
  [[nodiscard]] std::optional<int> devices() const;
  /// global_batch_size, or micro batch x accumulation x data-parallel size.
  [[nodiscard]] std::optional<double> samples_per_step() const;
};

/// The last run of a log.
struct TrainingLog {
  std::string file;
  std::string software;              ///< "Megatron-LM", "DeepSpeed", "Hugging Face Trainer", ...
  std::vector<LoggedStep> steps;     ///< those with a time, in order; several ranks' lines of a step once
  std::vector<Seconds> micro_steps;  ///< where only micro-steps are timed: forward + backward of one
  LogFacts facts;
  std::string time_from;        ///< "elapsed time per iteration", "samples/s and the batch size", ...
  std::optional<Bytes> memory;  ///< greatest of the steps', or of those that another tool tells of
  std::vector<std::string> notes;
};

/// What the log can't tell by itself, from the scenario: rates become times by it.
struct BatchHint {
  double samples_per_step{}, tokens_per_sample{}, samples_per_device{};  ///< 0: not known
};

/// Reads the log of a training job: lines of Megatron-LM and its kin (Megatron-DeepSpeed, GPT-NeoX),
/// DeepSpeed's throughput lines and timers, Hugging Face Trainer's summaries and progress bars, torchtitan,
/// nanoGPT, llm.c, MLPerf (`:::MLLOG`). Labels of srun, mpirun, torchrun, pdsh and kubectl before lines, ANSI
/// colours and carriage returns are no hindrance.
/// @throws ScenarioError when no time can be read; it says what was found instead
[[nodiscard]] TrainingLog parse_training_log(std::string_view text, const std::string& file,
                                             const BatchHint& hint = {});
/// The same of a file. @throws ScenarioError also when it can't be read
[[nodiscard]] TrainingLog read_training_log(const std::string& file, const BatchHint& hint = {});

}  // namespace stepcast
