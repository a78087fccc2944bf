#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/verify/training_log.hpp"

namespace stepcast {

/// Reads the lines of one kind of software out of a log. Every reader sees every line; the first one, in the
/// order of step_readers(), that found steps is believed, because those of a framework on top (Megatron) time
/// whole steps and those below it (DeepSpeed) parts of them.
class StepReader {
 public:
  StepReader() = default;
  StepReader(const StepReader&) = delete;
  StepReader& operator=(const StepReader&) = delete;
  virtual ~StepReader() = default;

  virtual void line(std::string_view text, unsigned number) = 0;
  /// After the last line.
  virtual void finish() {}
  [[nodiscard]] virtual std::string software() const = 0;
  /// What `time` of its steps, or the rate in place of it, is.
  [[nodiscard]] virtual std::string time_from() const = 0;
  /// Why lines of this software that were seen hold no times; empty when there are none.
  [[nodiscard]] virtual std::string complaint() const { return ""; }
  [[nodiscard]] virtual std::vector<Seconds> micro_steps() const { return {}; }
  [[nodiscard]] const std::vector<LoggedStep>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 protected:
  /// Of a step that another rank has told already, nothing is kept; a step number that starts again at the
  /// first begins another run, and what was before is forgotten, with a note.
  void add(LoggedStep step);
  /// Steps so far don't count.
  void forget() {
    steps_.clear();
    seen_.clear();
  }
  std::vector<LoggedStep> steps_;
  std::vector<std::string> notes_;

 private:
  std::set<std::int64_t> seen_;  ///< numbers of steps_
};

// One file a reader.
[[nodiscard]] std::unique_ptr<StepReader> megatron_reader();      // read_megatron.cpp
[[nodiscard]] std::unique_ptr<StepReader> torchtitan_reader();    // read_torchtitan.cpp
[[nodiscard]] std::unique_ptr<StepReader> deepspeed_reader();     // read_deepspeed.cpp
[[nodiscard]] std::unique_ptr<StepReader> llm_c_reader();         // read_llm_c.cpp
[[nodiscard]] std::unique_ptr<StepReader> nanogpt_reader();       // read_nanogpt.cpp
[[nodiscard]] std::unique_ptr<StepReader> mlperf_reader();        // read_mlperf.cpp
[[nodiscard]] std::unique_ptr<StepReader> hugging_face_reader();  // read_hugging_face.cpp

/// All of them, those of whole steps first.
[[nodiscard]] std::vector<std::unique_ptr<StepReader>> step_readers();

/// The number that follows the first `key` of the text which is no part of a longer word, over blanks, dots,
/// quotes, ':', '=' and '('; "5,762" is 5762. Nothing when there is no such key or no number follows.
[[nodiscard]] std::optional<double> number_after(std::string_view text, std::string_view key);
/// The number at the start of the text.
[[nodiscard]] std::optional<double> leading_number(std::string_view text);
[[nodiscard]] constexpr Seconds from_milliseconds(double n) { return Seconds(n * 1e-3); }
/// When the line was written, by the first "2023-07-25 21:03:17,269" in it: seconds since 1970, zones aside.
[[nodiscard]] std::optional<double> clock_of(std::string_view text);
/// "63.31GB", "28.82GiB" after the key; GB as frameworks print it is GiB.
[[nodiscard]] std::optional<Bytes> memory_after(std::string_view text, std::string_view key);
/// What the line says of the job: argument lists of Megatron and DeepSpeed, Hugging Face's and torchtitan's
/// first lines, options of a command line.
void read_facts(std::string_view text, LogFacts& facts);

}  // namespace stepcast
