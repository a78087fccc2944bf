#pragma once

#include <cupti.h>

#include <cstdint>
#include <vector>

#include "calibrate/device.hpp"

namespace stepcast {

/// What CUPTI's activity records say, without what differs between its versions. Times are nanoseconds of one
/// clock.
struct Activity {
  struct Interval {
    std::uint64_t start{}, end{};
  };
  /// A kernel, a copy, or a fill on the device.
  struct OnDevice {
    Interval time;
    std::uint32_t stream{};
    std::uint32_t correlation{}, runtime_correlation{};  ///< of driver and runtime call; copies have two
  };
  /// A call of the runtime or the driver.
  struct ApiCall {
    Interval time;
    std::uint32_t correlation{}, thread{};
  };
  /// Time that CUPTI itself took in a thread.
  struct Overhead {
    Interval time;
    std::uint32_t thread{};
  };
  std::vector<OnDevice> on_device;
  std::vector<ApiCall> calls;
  std::vector<Overhead> overheads;

  /// Kinds that it does not know, and records without times, are left out.
  void add(const CUpti_Activity& record);
};

/// Of what ran on `stream` and was launched at `since` or later: first start to last end, sum of own times,
/// and the time of the calls that launched it (joined by correlation id; a call inside a call counts once)
/// without CUPTI's own overhead in the same thread. Work whose call was not recorded counts by its own start.
[[nodiscard]] Sample summarize(const Activity& activity, std::uint32_t stream, std::uint64_t since);

}  // namespace stepcast
