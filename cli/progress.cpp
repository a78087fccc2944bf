#include "cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "base/print.hpp"

namespace stepcast {

Progress::Progress(bool asked_for, std::string what)
    : what_(std::move(what)),
      terminal_(::isatty(STDERR_FILENO) != 0),
      shown_(terminal_ || asked_for),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (on_line_) std::cerr << "\r\033[K" << std::flush;
}

bool Progress::is_time(double interval_seconds) {
  if (!shown_) return false;
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> elapsed = now - start_, since_last = now - last_;
  if (elapsed.count() < 1 || since_last.count() < (terminal_ ? 0.1 : interval_seconds)) return false;
  last_ = now;
  return true;
}

void Progress::print(const std::string& text) {
  if (terminal_) {
    std::cerr << "\r" << text << "\033[K" << std::flush;
    on_line_ = true;
  } else {
    std::cerr << text << "\n" << std::flush;
  }
}

void Progress::report(std::size_t done, std::size_t total) {
  if (!is_time(1)) return;
  const std::chrono::duration<double> elapsed = last_ - start_;
  print(progress_text(done, total, elapsed.count(), what_));
}

void Progress::show(const std::string& text) {
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  if (is_time(std::max(1.0, elapsed.count() / 10))) print(text);
}

std::string progress_text(std::size_t done, std::size_t total, double elapsed_seconds,
                          const std::string& what) {
  std::string text = std::to_string(done) + "/" + std::to_string(total) + " " + what;
  if (done > 0 && done < total) {
    const double left = elapsed_seconds * static_cast<double>(total - done) / static_cast<double>(done);
    text += ", about " + print_time(Seconds(left)) + " left";
  }
  return text;
}

}  // namespace stepcast
