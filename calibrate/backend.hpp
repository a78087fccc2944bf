#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/device.hpp"
#include "sim/collective/collective.hpp"

namespace stepcast {

class Meeting;

/// One call. Sizes are as nccl-tests counts them: all_reduce, broadcast, reduce: input and output of the full
/// tensor; all_gather: input one rank's share, output the full tensor; reduce_scatter: input the full tensor,
/// output one share; all_to_all: both the full tensor. send_recv: rank r sends to r+1 and receives from r-1.
/// Sums are not divided. In place as NCCL defines it: input and output are the same memory, except that
/// all_gather's input and reduce_scatter's output are this rank's share of the other; all_to_all and
/// send_recv can't. A reduce in place may leave partial sums on ranks other than the root.
struct CollectiveRequest {
  Operation operation{};
  Tensor input, output;
  int root{};  ///< of broadcast and reduce, in the communicator's ranks
};

/// How a library runs a call; empty or 0 where it doesn't say.
struct CollectiveFacts {
  std::string algorithm, protocol;
  int channels{};
  Seconds estimate;  ///< the library's own (ncclGroupSimulateEnd)
};

/// Ranks that communicate. Calls of one communicator run one after the other, in the order of start(), beside
/// what the compute stream does.
class DeviceCommunicator {
 public:
  using Ticket = int;
  DeviceCommunicator() = default;
  DeviceCommunicator(const DeviceCommunicator&) = delete;
  DeviceCommunicator& operator=(const DeviceCommunicator&) = delete;
  virtual ~DeviceCommunicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// The call begins when the compute stream has done all that it was given before; returns at once.
  [[nodiscard]] virtual Ticket start(const CollectiveRequest& request) = 0;
  /// The compute stream waits for the call (a host blocks, without using its core).
  virtual void wait(Ticket ticket) = 0;
  /// As wait(), but a host computes meanwhile: host_time() then also counts what the kernel does for packets
  /// in interrupts, which belongs to no thread and yet takes the core from whoever computes on it.
  virtual void wait_computing(Ticket ticket) { wait(ticket); }
  /// CPU time that the call took on the rank's core (0 on GPUs), once it has ended.
  [[nodiscard]] virtual Seconds host_time(Ticket ticket) = 0;
  /// From when the call could begin on this rank (started, and the one before it had ended) to its end; waits
  /// for it.
  [[nodiscard]] virtual Seconds duration(Ticket ticket) = 0;
  [[nodiscard]] virtual CollectiveFacts facts(const CollectiveRequest& request) = 0;
};

/// What one rank measures and trains on.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;  ///< "host", "cuda"
  [[nodiscard]] virtual ComputeDevice& device() = 0;
  /// Of these ranks of the meeting, in this order, which must hold the caller. All of them call, in the same
  /// order of communicators.
  [[nodiscard]] virtual std::unique_ptr<DeviceCommunicator> communicator(const std::vector<int>& ranks) = 0;
  /// Processes of other people that use the device now ("pid 4711 (python)"); empty: none.
  [[nodiscard]] virtual std::vector<std::string> neighbours() const = 0;
};

/// CPU cores and Gloo. @throws MachineError
[[nodiscard]] std::unique_ptr<Backend> open_host_backend(Meeting& meeting);
/// CUDA, cuBLASLt, NCCL and CUPTI, opened at run time. @throws MachineError saying what is missing, also
/// where the program was built without CUDA's headers
[[nodiscard]] std::unique_ptr<Backend> open_cuda_backend(Meeting& meeting);

}  // namespace stepcast
