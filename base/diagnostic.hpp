#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// Where in a text something stands. Lines and columns count from 1, as editors do; 0 means "the whole file".
struct SourcePlace {
  std::string file;
  unsigned line{}, column{};
  unsigned length{1};       ///< characters to underline
  std::string source_line;  ///< the line's text, for the excerpt; may be empty
};

/// One fault of an input: what is wrong, where, and what would be right.
struct Diagnostic {
  SourcePlace place;
  std::string message;
  std::string hint;  ///< may be empty
};

/// `FILE:LINE:COLUMN: error: MESSAGE`, the excerpt with the place underlined, and the hint, each on its line.
[[nodiscard]] std::string render(const Diagnostic& diagnostic, std::string_view severity = "error");

/// The user's input is wrong. Holds all faults that were found; what() is the first one as text.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<Diagnostic> found);
  explicit ScenarioError(Diagnostic one);
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const noexcept { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// Our own fault. Only main catches it (exit code 70); no input may reach it.
class InternalError : public std::logic_error {
 public:
  InternalError(const char* file, int line, const std::string& message);
};

/// A question whose answer can't be counted: an activity of the step would last longer than the simulator's
/// clock (picoseconds in 64 bits; 46 days). Figures of the input do that (a rate of 1 b/s), so the point is
/// told to be impossible; it is no fault of ours.
class ClockOverflow : public std::range_error {
 public:
  /// @param what  what lasts too long, "a collective's latency"
  explicit ClockOverflow(const std::string& what)
      : std::range_error(
            what +
            " would last longer than 46 days, which the simulator's clock can't count: check rates, "
            "latencies and sizes") {}
};

/// The user asked to stop (SIGINT, or the GUI's newer request): what is done is kept (exit code 130).
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// The known name nearest to `word` by edit distance, or "" when none is near enough to suggest.
[[nodiscard]] std::string nearest_name(std::string_view word, const std::vector<std::string>& known);

/// `did you mean "NEAREST"?` when one is near, else `known: a, b, c`.
[[nodiscard]] std::string suggest(std::string_view word, const std::vector<std::string>& known);

}  // namespace stepcast

/// Checked in release too.
#define STEPCAST_CHECK(condition, message)                                          \
  do {                                                                              \
    if (!(condition)) throw ::stepcast::InternalError(__FILE__, __LINE__, message); \
  } while (false)
