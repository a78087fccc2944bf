#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace stepcast {

/// How far a long run is, on stderr: done/total and the time left. Silent for the first second, and when
/// stderr is no terminal, unless it is asked for.
class Progress {
 public:
  explicit Progress(bool asked_for, std::string what = "points");
  ~Progress();  ///< wipes its line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void report(std::size_t done, std::size_t total);
  /// The same with a text of the caller's. Where stderr is no terminal, ever more seldom.
  void show(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool is_time(double interval_seconds);
  void print(const std::string& text);
  std::string what_;
  bool terminal_, shown_;
  bool on_line_{};  ///< something stands on the terminal's line
  Clock::time_point start_, last_;
};

/// "12/90 points, about 3.40 s left": elapsed time scaled to what is still to do.
[[nodiscard]] std::string progress_text(std::size_t done, std::size_t total, double elapsed_seconds,
                                        const std::string& what = "points");

}  // namespace stepcast
