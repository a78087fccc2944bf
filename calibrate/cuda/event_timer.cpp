#include <cuda_runtime_api.h>

#include <ctime>

#include "calibrate/cuda/cuda_error.hpp"
#include "calibrate/cuda/kernel_timer.hpp"

namespace stepcast {
namespace {

Seconds thread_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return Seconds(static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec));
}

class EventTimer : public KernelTimer {
 public:
  explicit EventTimer(cudaStream_t stream) : stream_(stream) {
    check_cuda(cudaEventCreate(&begin_), "create an event");
    check_cuda(cudaEventCreate(&end_), "create an event");
  }
  ~EventTimer() override {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  Sample timed(const std::function<int()>& body) override {
    check_cuda(cudaStreamSynchronize(stream_), "finish what was issued before");
    const Seconds before = thread_time();
    check_cuda(cudaEventRecord(begin_, stream_), "record an event");
    const int launches = body();
    check_cuda(cudaEventRecord(end_, stream_), "record an event");
    const Seconds host = thread_time() - before;
    check_cuda(cudaEventSynchronize(end_), "finish the kernels that are measured");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "tell the time between events");
    const Seconds time(1e-3 * static_cast<double>(milliseconds));
    return {time, time, host, launches};
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_{}, end_{};
};

}  // namespace

std::unique_ptr<KernelTimer> open_event_timer(cudaStream_t stream) {
  return std::make_unique<EventTimer>(stream);
}

}  // namespace stepcast
