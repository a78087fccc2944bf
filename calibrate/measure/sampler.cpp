#include "calibrate/measure/sampler.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {
namespace {

/// A batch whose issuing takes this part of its time is bound by it.
constexpr double launch_bound_share = 0.8;
/// So many launches at least make one sample of what a launch costs.
constexpr int fewest_launches = 100;

Seconds time_of(const Sample& batch, int calls) {
  const bool launch_bound = batch.host.value >= launch_bound_share * batch.time.value;
  return (launch_bound ? batch.busy : batch.time) / calls;
}

class KernelSampler : public Sampler {
 public:
  KernelSampler(ComputeDevice& device, std::function<void()> call)
      : device_(device), call_(std::move(call)) {}
  Reading sample(const BatchSize& batch) override {
    const Sample taken = run(batch.calls);
    Reading reading;
    reading.time = time_of(taken, batch.calls);
    reading.host = taken.host / batch.calls;
    return reading;
  }

 protected:
  [[nodiscard]] ComputeDevice& device() const { return device_; }
  Sample run(int calls) {
    return device_.timed([&] {
      for (int i = 0; i < calls; ++i) call_();
    });
  }

 private:
  ComputeDevice& device_;
  std::function<void()> call_;
};

class LaunchSampler : public KernelSampler {
 public:
  using KernelSampler::KernelSampler;
  Reading sample(const BatchSize& batch) override {
    const Sample taken = run(std::max(batch.calls, fewest_launches));
    Reading reading;
    reading.time = reading.host = taken.host / std::max(1, taken.kernels);
    return reading;
  }
};

class HostCopySampler : public KernelSampler {
 public:
  HostCopySampler(const Measurement& what, ComputeDevice& device)
      : HostCopySampler(what, device,
                        std::make_shared<std::vector<float>>(
                            static_cast<std::size_t>(what.bytes.value / element_size(Dtype::fp32)), 1.0F),
                        device.allocate(static_cast<std::int64_t>(what.bytes.value))) {}
  /// The copies themselves, without what is done around them to the host's memory.
  Reading sample(const BatchSize& batch) override {
    const Sample taken = run(batch.calls);
    Reading reading;
    reading.time = taken.busy / batch.calls;
    reading.host = taken.host / batch.calls;
    return reading;
  }

 private:
  HostCopySampler(const Measurement& what, ComputeDevice& device,
                  const std::shared_ptr<std::vector<float>>& host, const std::shared_ptr<void>& memory)
      : KernelSampler(device, [&device, to_device = what.to_device, host, memory] {
          const Tensor tensor{memory.get(), static_cast<std::int64_t>(host->size()), Dtype::fp32};
          if (to_device) {
            device.upload(tensor, host->data());
          } else {
            device.download(tensor, host->data());
          }
        }) {}
};

/// Starts `calls` collectives; the last one's end is waited for by the caller.
std::vector<DeviceCommunicator::Ticket> start(DeviceCommunicator& communicator,
                                              const CollectiveRequest& request, int calls) {
  std::vector<DeviceCommunicator::Ticket> tickets;
  for (int i = 0; i < calls; ++i) tickets.push_back(communicator.start(request));
  return tickets;
}

/// Mean duration and CPU time of calls, once they have ended.
Reading finish(DeviceCommunicator& communicator, const std::vector<DeviceCommunicator::Ticket>& tickets) {
  for (const auto ticket : tickets) communicator.wait(ticket);
  Reading sum;
  for (const auto ticket : tickets) {
    sum.time += communicator.duration(ticket);
    sum.host += communicator.host_time(ticket);
  }
  const auto calls = static_cast<double>(tickets.size());
  Reading mean;
  mean.time = sum.time / calls;
  mean.host = sum.host / calls;
  return mean;
}

/// Brings the ranks together without moving much: a sum of one element of the request's own buffer.
void align(DeviceCommunicator& communicator, const CollectiveRequest& request) {
  CollectiveRequest small = request;
  small.operation = Operation::all_reduce;
  small.input = small.output = request.output.part(0, 1);
  communicator.wait(communicator.start(small));
}

class CollectiveSampler : public Sampler {
 public:
  CollectiveSampler(ComputeDevice& device, DeviceCommunicator& communicator, const CollectiveRequest& request,
                    Clock clock)
      : device_(device), communicator_(communicator), request_(request), clock_(std::move(clock)) {}
  Reading sample(const BatchSize& batch) override {
    align(communicator_, request_);
    device_.synchronize();
    // An idle GPU begins to count a call while the CPU still issues it; a busy one when it runs.
    const bool on_gpu = device_.facts().compute_capability > 0;
    if (on_gpu) device_.pause(1.5 * static_cast<double>(batch.calls) * issuing_);
    const Seconds begin = clock_();
    const auto tickets = start(communicator_, request_, batch.calls);
    issuing_ = (clock_() - begin) / batch.calls;
    Reading reading = finish(communicator_, tickets);
    if (!on_gpu) reading.host = core_time();
    return reading;
  }
  CollectiveFacts facts() override { return communicator_.facts(request_); }

 private:
  /// What a call takes from compute on a host's core; not timed itself, because compute slows it.
  Seconds core_time() {
    align(communicator_, request_);
    const auto ticket = communicator_.start(request_);
    communicator_.wait_computing(ticket);
    return communicator_.host_time(ticket);
  }

  ComputeDevice& device_;
  DeviceCommunicator& communicator_;
  CollectiveRequest request_;
  Clock clock_;
  Seconds issuing_;  ///< of one call, the last time
};

class OverlapSampler : public KernelSampler {
 public:
  OverlapSampler(ComputeDevice& device, std::function<void()> gemm, DeviceCommunicator& communicator,
                 const CollectiveRequest& request)
      : KernelSampler(device, std::move(gemm)), communicator_(communicator), request_(request) {}
  Reading sample(const BatchSize& batch) override {
    const Seconds alone = time_of(run(batch.calls), batch.calls);
    align(communicator_, request_);
    device().synchronize();
    const auto tickets = start(communicator_, request_, batch.companions);
    const Sample beside = run(batch.calls);
    Reading reading;
    reading.call = finish(communicator_, tickets).time;
    reading.time = time_of(beside, batch.calls);
    reading.host = beside.host / batch.calls;
    reading.alone = alone;
    return reading;
  }
  CollectiveFacts facts() override { return communicator_.facts(request_); }

 private:
  DeviceCommunicator& communicator_;
  CollectiveRequest request_;
};

/// The ranks that call together with this one; those of "node" differ from node to node.
std::vector<int> members(const Measurement& what, const RankPlace& place) {
  if (what.group != "node") return what.ranks;
  std::vector<int> ranks;
  for (int rank = 0; rank < place.size; ++rank) {
    if (place.node_of_rank.at(static_cast<std::size_t>(rank)) == place.node) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

PlanCommunicators::PlanCommunicators(const std::vector<Measurement>& plan, Backend& backend,
                                     const RankPlace& place) {
  for (const Measurement& what : plan) {
    if (what.group.empty() || by_group_.contains(what.group)) continue;
    const std::vector<int> ranks = members(what, place);
    const bool in = std::find(ranks.begin(), ranks.end(), place.rank) != ranks.end();
    by_group_[what.group] = in ? backend.communicator(ranks) : nullptr;
  }
}

DeviceCommunicator* PlanCommunicators::find(const Measurement& what) const {
  return by_group_.at(what.group).get();
}

std::unique_ptr<Sampler> make_sampler(const Measurement& what, ComputeDevice& device, Workbench& workbench,
                                      const PlanCommunicators& communicators, const Clock& clock) {
  using Kind = Measurement::Kind;
  switch (what.kind) {
    case Kind::gemm:
    case Kind::attention:
    case Kind::kernel:
    case Kind::sustained:
      return std::make_unique<KernelSampler>(device, workbench.prepare(what));
    case Kind::launch:
      return std::make_unique<LaunchSampler>(device, workbench.prepare(what));
    case Kind::host_copy:
      return std::make_unique<HostCopySampler>(what, device);
    case Kind::collective: {
      DeviceCommunicator* communicator = communicators.find(what);
      if (!communicator) return nullptr;
      return std::make_unique<CollectiveSampler>(device, *communicator, workbench.request(what), clock);
    }
    case Kind::overlap: {
      DeviceCommunicator* communicator = communicators.find(what);
      if (!communicator) return nullptr;
      return std::make_unique<OverlapSampler>(device, workbench.prepare(what), *communicator,
                                              workbench.request(what));
    }
  }
  return nullptr;
}

}  // namespace stepcast
