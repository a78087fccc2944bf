#pragma once

#include <driver_types.h>
#include <nccl.h>

#include <array>
#include <map>
#include <tuple>

#include "calibrate/backend.hpp"
#include "calibrate/cuda/nccl_api.hpp"
#include "calibrate/cuda/nccl_profiler.hpp"

namespace stepcast {

/// Calls run on a stream of their own with the highest priority, between two events. Tickets hold for the
/// last 1024 calls. facts() knows algorithm, protocol and channels of requests that have been started before,
/// and NCCL's estimate; all ranks call it alike. A wait ends with MachineError when NCCL reports that a peer
/// is gone; one that hangs without a word is the meeting's to end.
class NcclDeviceCommunicator : public DeviceCommunicator {
 public:
  /// @param compute  the stream whose work calls wait for
  NcclDeviceCommunicator(const NcclApi& api, const ncclUniqueId& id, int rank, int size,
                         cudaStream_t compute);
  ~NcclDeviceCommunicator() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] Ticket start(const CollectiveRequest& request) override;
  void wait(Ticket ticket) override;
  [[nodiscard]] Seconds host_time(Ticket ticket) override;
  [[nodiscard]] Seconds duration(Ticket ticket) override;
  [[nodiscard]] CollectiveFacts facts(const CollectiveRequest& request) override;

 private:
  struct Call {
    cudaEvent_t begin{}, end{};
  };
  using Key = std::tuple<Operation, std::int64_t, std::int64_t, Dtype, int>;

  [[nodiscard]] Call& call_of(Ticket ticket);
  void issue(const CollectiveRequest& request);
  void finish(const Call& call);

  static constexpr int kept_calls = 1024;
  const NcclApi& api_;
  int rank_, size_;
  cudaStream_t compute_, stream_{};
  cudaEvent_t ready_{};
  ncclComm_t communicator_{};
  bool broken_{};
  int next_{};
  std::array<Call, kept_calls> calls_;
  std::map<Key, CollectiveEvent> events_;
};

}  // namespace stepcast
