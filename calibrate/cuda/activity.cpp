#include "calibrate/cuda/activity.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace stepcast {
namespace {

// Records grow from release to release, but keep what they had where it was. So each kind is read by the
// oldest struct that every header since CUDA 12 declares, and here the newest one is held against it.
template <class Old, class New>
constexpr bool same_place = offsetof(Old, start) == offsetof(New, start) &&
                            offsetof(Old, end) == offsetof(New, end);
template <class Old, class New>
constexpr bool same_ids = offsetof(Old, streamId) == offsetof(New, streamId) &&
                          offsetof(Old, correlationId) == offsetof(New, correlationId);

using KernelRecord = CUpti_ActivityKernel4;
using CopyRecord = CUpti_ActivityMemcpy4;
using FillRecord = CUpti_ActivityMemset3;
using OverheadRecord = CUpti_ActivityOverhead;
static_assert(same_place<KernelRecord, CUpti_ActivityKernel9> &&
              same_ids<KernelRecord, CUpti_ActivityKernel9>);
static_assert(same_place<CopyRecord, CUpti_ActivityMemcpy5> && same_ids<CopyRecord, CUpti_ActivityMemcpy5>);
static_assert(same_place<FillRecord, CUpti_ActivityMemset4> && same_ids<FillRecord, CUpti_ActivityMemset4>);
#if CUPTI_API_VERSION >= 130000
static_assert(same_place<KernelRecord, CUpti_ActivityKernel10> &&
              same_ids<KernelRecord, CUpti_ActivityKernel10>);
static_assert(same_place<CopyRecord, CUpti_ActivityMemcpy6> && same_ids<CopyRecord, CUpti_ActivityMemcpy6> &&
              offsetof(CopyRecord, runtimeCorrelationId) ==
                  offsetof(CUpti_ActivityMemcpy6, runtimeCorrelationId));
static_assert(same_place<OverheadRecord, CUpti_ActivityOverhead3> &&
              offsetof(OverheadRecord, objectId) == offsetof(CUpti_ActivityOverhead3, objectId));
#endif

template <class Record>
void add_on_device(std::vector<Activity::OnDevice>& list, const CUpti_Activity& record) {
  const auto& own = reinterpret_cast<const Record&>(record);
  if (own.end <= own.start) return;  // 0 and 0: not collected
  std::uint32_t of_runtime = own.correlationId;
  if constexpr (requires { own.runtimeCorrelationId; }) {
    if (own.runtimeCorrelationId != 0) of_runtime = own.runtimeCorrelationId;
  }
  list.push_back({{own.start, own.end}, own.streamId, own.correlationId, of_runtime});
}

std::uint64_t common(const Activity::Interval& a, const Activity::Interval& b) {
  const std::uint64_t start = std::max(a.start, b.start), end = std::min(a.end, b.end);
  return end > start ? end - start : 0;
}

std::uint64_t own_time(const Activity::ApiCall& call, const std::vector<Activity::Overhead>& overheads) {
  std::uint64_t time = call.time.end - call.time.start;
  for (const auto& overhead : overheads) {
    if (overhead.thread == call.thread) time -= std::min(time, common(overhead.time, call.time));
  }
  return time;
}

Seconds seconds(std::uint64_t nanoseconds) { return Seconds(static_cast<double>(nanoseconds) * 1e-9); }

}  // namespace

void Activity::add(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      add_on_device<KernelRecord>(on_device, record);
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      add_on_device<CopyRecord>(on_device, record);
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      add_on_device<FillRecord>(on_device, record);
      break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto& call = reinterpret_cast<const CUpti_ActivityAPI&>(record);
      calls.push_back({{call.start, call.end}, call.correlationId, call.threadId});
      break;
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto& overhead = reinterpret_cast<const OverheadRecord&>(record);
      if (overhead.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) {
        overheads.push_back({{overhead.start, overhead.end}, overhead.objectId.pt.threadId});
      }
      break;
    }
    default:
      break;
  }
}

Sample summarize(const Activity& activity, std::uint32_t stream, std::uint64_t since) {
  // The longest call of each correlation id is the outermost one.
  struct Launch {
    Activity::ApiCall call;
    bool counted{};
  };
  std::unordered_map<std::uint32_t, Launch> launches;
  for (const auto& call : activity.calls) {
    auto& outermost = launches.try_emplace(call.correlation, Launch{call}).first->second.call;
    if (call.time.end - call.time.start > outermost.time.end - outermost.time.start) outermost = call;
  }

  Activity::Interval whole{~std::uint64_t{0}, 0};
  std::uint64_t busy = 0, host = 0;
  int kernels = 0;
  for (const auto& work : activity.on_device) {
    if (work.stream != stream) continue;
    auto found = launches.find(work.runtime_correlation);
    if (found == launches.end()) found = launches.find(work.correlation);
    Launch* launch = found == launches.end() ? nullptr : &found->second;
    if ((launch != nullptr ? launch->call.time.start : work.time.start) < since) continue;
    whole = {std::min(whole.start, work.time.start), std::max(whole.end, work.time.end)};
    busy += work.time.end - work.time.start;
    ++kernels;
    if (launch == nullptr || launch->counted) continue;
    host += own_time(launch->call, activity.overheads);
    launch->counted = true;
  }
  if (kernels == 0) return {Seconds(0), Seconds(0), Seconds(0), 0};
  return {seconds(whole.end - whole.start), seconds(busy), seconds(host), kernels};
}

}  // namespace stepcast
