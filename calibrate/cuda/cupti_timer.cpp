#include <cuda_runtime_api.h>
#include <cupti.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "calibrate/cuda/activity.hpp"
#include "calibrate/cuda/cuda_error.hpp"
#include "calibrate/cuda/kernel_timer.hpp"
#include "calibrate/cuda/library.hpp"

namespace stepcast {
namespace {

constexpr const char* events_instead = "or set STEPCAST_TIMER=events to time by CUDA events, less exactly";
constexpr CUpti_ActivityKind recorded[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_OVERHEAD};

struct CuptiApi {
  decltype(&cuptiGetVersion) version{};
  decltype(&cuptiGetResultString) text{};
  decltype(&cuptiSubscribe) subscribe{};
  decltype(&cuptiUnsubscribe) unsubscribe{};
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks{};
  decltype(&cuptiActivityEnable) enable{};
  decltype(&cuptiActivityFlushAll) flush{};
  decltype(&cuptiActivityGetNextRecord) next_record{};
  decltype(&cuptiActivityGetNumDroppedRecords) dropped{};
  decltype(&cuptiGetStreamIdEx) stream_id{};
  decltype(&cuptiGetTimestamp) timestamp{};

  CuptiApi() {
    const SharedLibrary library("CUPTI",
                                {"libcupti.so." + std::to_string(CUDART_VERSION / 1000), "libcupti.so"});
    library.load(version, "cuptiGetVersion");
    library.load(text, "cuptiGetResultString");
    library.load(subscribe, "cuptiSubscribe");
    library.load(unsubscribe, "cuptiUnsubscribe");
    library.load(register_callbacks, "cuptiActivityRegisterCallbacks");
    library.load(enable, "cuptiActivityEnable");
    library.load(flush, "cuptiActivityFlushAll");
    library.load(next_record, "cuptiActivityGetNextRecord");
    library.load(dropped, "cuptiActivityGetNumDroppedRecords");
    library.load(stream_id, "cuptiGetStreamIdEx");
    library.load(timestamp, "cuptiGetTimestamp");
  }

  void check(CUptiResult status, const char* what) const {
    if (status == CUPTI_SUCCESS) return;
    if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
      throw MachineError(
          "another profiler holds CUPTI in this process (Nsight, a debugger, or a preloaded library)",
          std::string("start without it, ") + events_instead);
    }
    const char* reason = nullptr;
    text(status, &reason);
    throw MachineError(std::string("CUPTI can't ") + what + ": " +
                           (reason != nullptr ? reason : "no reason given") + " (" +
                           std::to_string(static_cast<int>(status)) + ")",
                       std::string("GPUs that are shared or virtual may refuse; ") + events_instead);
  }
};

/// Buffers that CUPTI fills. Its callbacks carry no user data, and come from threads of its own.
class Buffers {
 public:
  struct Filled {
    std::uint8_t* data;
    std::size_t valid;
  };

  static Buffers& only() {
    static auto* const buffers = new Buffers;  // CUPTI may still call when the program ends
    return *buffers;
  }
  static void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    *buffer = only().take();
    *size = *buffer == nullptr ? 0 : bytes;
    *most_records = 0;  // as many as fit
  }
  static void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                std::size_t valid) {
    const std::lock_guard lock(only().mutex_);
    only().filled_.push_back({buffer, valid});
  }
  std::vector<Filled> take_filled() {
    const std::lock_guard lock(mutex_);
    return std::exchange(filled_, {});
  }
  void give_back(std::uint8_t* buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(buffer);
  }

 private:
  static constexpr std::size_t bytes = std::size_t{1} << 20U;
  static constexpr std::size_t alignment = 64;  // CUPTI asks for 8

  std::uint8_t* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return static_cast<std::uint8_t*>(std::aligned_alloc(alignment, bytes));
    std::uint8_t* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  std::mutex mutex_;
  std::vector<Filled> filled_;
  std::vector<std::uint8_t*> free_;
};

class CuptiTimer : public KernelTimer {
 public:
  explicit CuptiTimer(cudaStream_t stream) : stream_(stream) {
    api_.check(api_.version(&version_), "tell its version");
    // Of the toolkit: 19 to 28 were CUDA 12's, then major x 10000 + minor x 100 + update; cupti_version.h.
    const auto major = [](std::uint32_t version) {
      return version >= 10000 ? version / 10000 : version >= 19 ? 12U : 11U;
    };
    if (major(version_) != major(CUPTI_API_VERSION)) {
      throw MachineError("CUPTI's interface " + std::to_string(version_) +
                             " is not the one that stepcast was built for, " +
                             std::to_string(CUPTI_API_VERSION),
                         std::string("set CUDA_HOME to CUDA ") + std::to_string(CUDART_VERSION / 1000) +
                             ", " + events_instead);
    }
    // The activity interface needs no subscriber, but only subscribing tells whether somebody else has.
    api_.check(api_.subscribe(
                   &subscriber_, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr),
               "be subscribed to");
    try {
      api_.check(api_.register_callbacks(Buffers::request, Buffers::complete), "register buffers");
      for (const CUpti_ActivityKind kind : recorded) api_.check(api_.enable(kind), "record activities");
      api_.check(api_.stream_id(nullptr, stream, 0, &stream_id_), "name the compute stream");
    } catch (...) {
      close();
      throw;
    }
  }
  ~CuptiTimer() override { close(); }

  Sample timed(const std::function<int()>& body) override {
    // Other streams go on: a collective may run beside what is measured. Records of what was done before may
    // still come, and are told by their time.
    check_cuda(cudaStreamSynchronize(stream_), "finish what was issued before");
    api_.check(api_.flush(0), "hand over its records");
    drop_records();
    std::size_t dropped = 0;
    api_.check(api_.dropped(nullptr, 0, &dropped), "count dropped records");  // and forget those of before
    std::uint64_t since = 0;
    api_.check(api_.timestamp(&since), "tell the time");
    const int launches = body();
    // Now all streams: CUPTI keeps buffers as long as one record in them is of a kernel that still runs.
    check_cuda(cudaDeviceSynchronize(), "finish the kernels that are measured");
    api_.check(api_.flush(0), "hand over its records");
    Activity activity;
    parse(activity);
    Sample sample = summarize(activity, stream_id_, since);
    if (sample.kernels < launches) {
      api_.check(api_.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "hand over its records");
      parse(activity);
      sample = summarize(activity, stream_id_, since);
    }
    api_.check(api_.dropped(nullptr, 0, &dropped), "count dropped records");
    if (dropped > 0 || sample.kernels < launches) {
      throw MachineError("CUPTI recorded " + std::to_string(sample.kernels) + " of " +
                             std::to_string(launches) + " launches and dropped " + std::to_string(dropped) +
                             " records",
                         std::string("measure less at once, ") + events_instead);
    }
    return sample;
  }

 private:
  void drop_records() {
    for (const Buffers::Filled& buffer : Buffers::only().take_filled())
      Buffers::only().give_back(buffer.data);
  }

  void parse(Activity& activity) {
    for (const Buffers::Filled& buffer : Buffers::only().take_filled()) {
      CUpti_Activity* record = nullptr;
      while (api_.next_record(buffer.data, buffer.valid, &record) == CUPTI_SUCCESS) activity.add(*record);
      Buffers::only().give_back(buffer.data);
    }
  }

  void close() {
    // Kinds stay enabled: in CUDA 13.0 disabling CONCURRENT_KERNEL may hang.
    api_.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    api_.unsubscribe(subscriber_);
    drop_records();
  }

  CuptiApi api_;
  cudaStream_t stream_;
  std::uint32_t version_{}, stream_id_{};
  CUpti_SubscriberHandle subscriber_{};
};

}  // namespace

std::string cupti_version() {
  try {
    const CuptiApi api;
    std::uint32_t version = 0;
    api.check(api.version(&version), "tell its version");
    return std::to_string(version);
  } catch (const MachineError&) {
    return "not found";
  }
}

std::unique_ptr<KernelTimer> open_cupti_timer(cudaStream_t stream) {
  return std::make_unique<CuptiTimer>(stream);
}

}  // namespace stepcast
