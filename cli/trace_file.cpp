#include "cli/trace_file.hpp"

#include "cli/commands.hpp"
#include "cli/progress.hpp"

namespace stepcast {

TraceTimeline read_trace_file(const std::string& file) {
  Progress progress(false, "KiB of " + file);
  return read_timeline(file, [&](std::uint64_t read, std::uint64_t size) {
    constexpr std::uint64_t kibibyte = 1024;
    progress.report(read / kibibyte, size / kibibyte);
    return !interrupt_requested();
  });
}

}  // namespace stepcast
