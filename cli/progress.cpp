#include "cli/progress.hpp"

#include <unistd.h>

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

void Progress::report(std::size_t done, std::size_t total) {
  if (!shown_) return;
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> elapsed = now - start_, since_last = now - last_;
  const double interval = terminal_ ? 0.1 : 1.0;
  if (elapsed.count() < 1 || since_last.count() < interval) return;
  last_ = now;
  const std::string text = progress_text(done, total, elapsed.count(), what_);
  if (terminal_) {
    std::cerr << "\r" << text << "\033[K" << std::flush;
    on_line_ = true;
  } else {
    std::cerr << text << "\n" << std::flush;
  }
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
