#pragma once

#include <cstdio>
#include <string>

namespace stepcast {

/// A profiler's trace, written event by event. Times in microseconds.
class TraceText {
 public:
  /// `arguments`: the members of "args".
  TraceText& event(const std::string& category, const std::string& name, double start, double duration,
                   const std::string& arguments = "", int thread = 1) {
    char times[96];
    std::snprintf(times, sizeof times, "\"ts\": %.3f, \"dur\": %.3f, \"pid\": 1, \"tid\": %d", start,
                  duration, thread);
    events_ += (events_.empty() ? "\n{" : ",\n{") + std::string("\"ph\": \"X\", \"cat\": \"") + category +
               "\", \"name\": \"" + name + "\", " + times + ", \"args\": {" + arguments + "}}";
    return *this;
  }
  /// A kernel of `stream`, and the call that launched it.
  TraceText& kernel(const std::string& name, double start, double duration, int stream = 7,
                    const std::string& arguments = "", double launched = -1, int thread = 1) {
    ++correlation_;
    const std::string id = "\"correlation\": " + std::to_string(correlation_);
    event("cuda_runtime", "cudaLaunchKernel", launched >= 0 ? launched : start - 10, 5, id, thread);
    return event("kernel", name, start, duration,
                 id + ", \"device\": 0, \"stream\": " + std::to_string(stream) +
                     (arguments.empty() ? "" : ", " + arguments));
  }
  TraceText& step(int number, double start, double duration) {
    return event("user_annotation", "ProfilerStep#" + std::to_string(number), start, duration);
  }

  [[nodiscard]] std::string text(int rank = 0, int world_size = 2,
                                 const std::string& gpu = "NVIDIA H100 80GB HBM3") const {
    return "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"" + gpu +
           "\", \"totalGlobalMem\": 85000000000}], \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " +
           std::to_string(rank) + ", \"world_size\": " + std::to_string(world_size) +
           ", \"nccl_version\": \"2.27.7\"}, \"traceEvents\": [" + events_ + "], \"traceName\": \"x\"}\n";
  }

 private:
  std::string events_;
  int correlation_{};
};

}  // namespace stepcast
