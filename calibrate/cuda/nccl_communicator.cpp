#include "calibrate/cuda/nccl_communicator.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <exception>
#include <thread>

#include "base/diagnostic.hpp"
#include "calibrate/cuda/cuda_error.hpp"

namespace stepcast {
namespace {

bool sums(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce_scatter ||
         operation == Operation::reduce;
}

ncclDataType_t type_of(const CollectiveRequest& request) {
  switch (request.input.type) {
    case Dtype::fp32:
    case Dtype::tf32:
      return ncclFloat32;
    case Dtype::bf16:
      return ncclBfloat16;
    case Dtype::fp16:
      return ncclFloat16;
    case Dtype::fp8:
      // Older versions know fp8 only as bytes.
      if (sums(request.operation)) throw MachineError("NCCL is not asked to add up fp8 elements");
      return ncclUint8;
  }
  return ncclFloat32;
}

std::string text_of(const CollectiveRequest& request) {
  return "run " + std::string(name_of(request.operation)) + " of " + std::to_string(request.input.count) +
         " elements";
}

}  // namespace

NcclDeviceCommunicator::NcclDeviceCommunicator(const NcclApi& api, const ncclUniqueId& id, int rank, int size,
                                               cudaStream_t compute)
    : api_(api), rank_(rank), size_(size), compute_(compute) {
  int lowest = 0, highest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "tell the priorities of streams");
  check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest), "create a stream");
  check_cuda(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming), "create an event");
  for (Call& call : calls_) {
    check_cuda(cudaEventCreate(&call.begin), "create an event");
    check_cuda(cudaEventCreate(&call.end), "create an event");
  }
  api_.check(api_.init_rank(&communicator_, size, id, rank),
             "connect " + std::to_string(size) + " ranks, as rank " + std::to_string(rank));
}

NcclDeviceCommunicator::~NcclDeviceCommunicator() {
  if (broken_ || std::uncaught_exceptions() > 0) {
    api_.abort(communicator_);  // destroying would wait for peers that may be gone
  } else {
    cudaStreamSynchronize(stream_);
    api_.destroy(communicator_);
  }
  for (Call& call : calls_) {
    cudaEventDestroy(call.begin);
    cudaEventDestroy(call.end);
  }
  cudaEventDestroy(ready_);
  cudaStreamDestroy(stream_);
}

NcclDeviceCommunicator::Call& NcclDeviceCommunicator::call_of(Ticket ticket) {
  STEPCAST_CHECK(ticket >= 0 && ticket < next_ && ticket >= next_ - kept_calls,
                 "a ticket of one of the last calls");
  return calls_[static_cast<std::size_t>(ticket % kept_calls)];
}

void NcclDeviceCommunicator::issue(const CollectiveRequest& request) {
  const auto type = type_of(request);
  const void* in = request.input.data;
  void* out = request.output.data;
  const auto count = static_cast<std::size_t>(request.input.count);
  const auto check = [&](ncclResult_t result) {
    if (result != ncclSuccess) api_.check(result, text_of(request));
  };
  const auto send = [&](const Tensor& part, int peer) {
    check(api_.send(part.data, static_cast<std::size_t>(part.count), type, peer, communicator_, stream_));
  };
  const auto receive = [&](const Tensor& part, int peer) {
    check(api_.receive(part.data, static_cast<std::size_t>(part.count), type, peer, communicator_, stream_));
  };
  switch (request.operation) {
    case Operation::all_reduce:
      return check(api_.all_reduce(in, out, count, type, ncclSum, communicator_, stream_));
    case Operation::all_gather:
      return check(api_.all_gather(in, out, count, type, communicator_, stream_));
    case Operation::reduce_scatter:
      return check(api_.reduce_scatter(in, out, static_cast<std::size_t>(request.output.count), type, ncclSum,
                                       communicator_, stream_));
    case Operation::broadcast:
      return check(api_.broadcast(in, out, count, type, request.root, communicator_, stream_));
    case Operation::reduce:
      return check(api_.reduce(in, out, count, type, ncclSum, request.root, communicator_, stream_));
    case Operation::all_to_all: {
      const std::int64_t share = request.input.count / size_;
      check(api_.group_start());
      for (int peer = 0; peer < size_; ++peer) {
        send(request.input.part(peer * share, share), peer);
        receive(request.output.part(peer * share, share), peer);
      }
      return check(api_.group_end());
    }
    case Operation::send_recv:
      check(api_.group_start());
      send(request.input, (rank_ + 1) % size_);
      receive(request.output, (rank_ + size_ - 1) % size_);
      return check(api_.group_end());
  }
}

DeviceCommunicator::Ticket NcclDeviceCommunicator::start(const CollectiveRequest& request) {
  const Ticket ticket = next_++;
  const Call& call = call_of(ticket);
  check_cuda(cudaEventRecord(ready_, compute_), "record an event");
  check_cuda(cudaStreamWaitEvent(stream_, ready_, 0), "order two streams");
  check_cuda(cudaEventRecord(call.begin, stream_), "record an event");
  static_cast<void>(take_collective_event());
  try {
    issue(request);
  } catch (...) {
    broken_ = true;
    throw;
  }
  check_cuda(cudaEventRecord(call.end, stream_), "record an event");
  if (const auto event = take_collective_event()) {
    events_[{request.operation, request.input.count, request.output.count, request.input.type,
             request.root}] = *event;
  }
  return ticket;
}

void NcclDeviceCommunicator::wait(Ticket ticket) {
  check_cuda(cudaStreamWaitEvent(compute_, call_of(ticket).end, 0), "order two streams");
}

Seconds NcclDeviceCommunicator::host_time(Ticket ticket) {
  finish(call_of(ticket));
  return Seconds(0);
}

void NcclDeviceCommunicator::finish(const Call& call) {
  while (true) {
    const cudaError_t status = cudaEventQuery(call.end);
    if (status == cudaSuccess) return;
    if (status != cudaErrorNotReady) check_cuda(status, "finish a collective");
    ncclResult_t error = ncclSuccess;
    api_.check(api_.async_error(communicator_, &error), "tell how a collective goes");
    if (error != ncclSuccess && error != ncclInProgress) {
      broken_ = true;
      api_.check(error, "finish a collective");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Seconds NcclDeviceCommunicator::duration(Ticket ticket) {
  const Call& call = call_of(ticket);
  finish(call);
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, call.begin, call.end), "tell the time between events");
  return Seconds(1e-3 * static_cast<double>(milliseconds));
}

CollectiveFacts NcclDeviceCommunicator::facts(const CollectiveRequest& request) {
  CollectiveFacts facts;
  if (const auto known = events_.find(
          {request.operation, request.input.count, request.output.count, request.input.type, request.root});
      known != events_.end()) {
    facts.algorithm = known->second.algorithm;
    facts.protocol = known->second.protocol;
    facts.channels = known->second.channels;
  }
  const bool one_call =
      request.operation != Operation::all_to_all && request.operation != Operation::send_recv;
  if (api_.group_simulate_end == nullptr || !one_call || size_ == 1) return facts;
  ncclSimInfo_t estimate = NCCL_SIM_INFO_INITIALIZER;
  api_.check(api_.group_start(), "start a simulated call");
  issue(request);
  api_.check(api_.group_simulate_end(&estimate), "estimate a call");
  facts.estimate = microseconds(static_cast<double>(estimate.estimatedTime));
  return facts;
}

}  // namespace stepcast
