#include "calibrate/host/lone_communicator.hpp"

#include <cstring>
#include <vector>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

class LoneCommunicator final : public DeviceCommunicator {
 public:
  explicit LoneCommunicator(DeviceTimeline& timeline) : timeline_(timeline) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  Ticket start(const CollectiveRequest& request) override {
    STEPCAST_CHECK(request.input.count == request.output.count, "one rank's input is as large as its output");
    const Seconds begin = monotonic_now(), cpu = thread_cpu_time();
    if (request.input.data != request.output.data) {
      std::memmove(request.output.data, request.input.data,
                   static_cast<std::size_t>(request.input.size().value));
      timeline_.worked();
    }
    calls_.push_back({monotonic_now() - begin, thread_cpu_time() - cpu});
    return static_cast<Ticket>(calls_.size()) - 1;
  }
  void wait(Ticket) override {}
  Seconds host_time(Ticket ticket) override { return calls_[static_cast<std::size_t>(ticket)].host; }
  Seconds duration(Ticket ticket) override { return calls_[static_cast<std::size_t>(ticket)].time; }
  CollectiveFacts facts(const CollectiveRequest&) override { return {}; }

 private:
  struct Call {
    Seconds time, host;
  };
  DeviceTimeline& timeline_;
  std::vector<Call> calls_;
};

}  // namespace

std::unique_ptr<DeviceCommunicator> lone_communicator(DeviceTimeline& timeline) {
  return std::make_unique<LoneCommunicator>(timeline);
}

}  // namespace stepcast
