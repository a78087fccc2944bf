#include "calibrate/host/gloo_communicator.hpp"

#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>

#include "base/diagnostic.hpp"
#include "base/print.hpp"
#include "calibrate/host/call_queue.hpp"
#include "calibrate/host/gloo_store.hpp"

namespace stepcast {
namespace {

// Between arrivals in one call; a rank that hangs is the meeting's to find, and it knows how long is too
// long.
constexpr std::chrono::minutes call_timeout{10};

std::vector<pid_t> threads_of_process() {
  std::vector<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.push_back(std::stoi(entry.path().filename().string()));
  }
  std::ranges::sort(threads);
  return threads;
}

/// A Gloo device, and the thread that it started to serve its sockets.
struct Transport {
  std::shared_ptr<gloo::transport::Device> device;
  std::vector<pid_t> threads;

  explicit Transport(const std::string& address) {
    const std::vector<pid_t> before = threads_of_process();
    device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(address.c_str()));
    const std::vector<pid_t> after = threads_of_process();
    std::ranges::set_difference(after, before, std::back_inserter(threads));
    for (const pid_t thread : threads) wake_promptly(thread);
  }

  [[nodiscard]] Seconds cpu_time() const {
    Seconds sum;
    for (const pid_t thread : threads) sum += thread_cpu_time(thread);
    return sum;
  }
};

class GlooCommunicator final : public DeviceCommunicator {
 public:
  GlooCommunicator(Meeting& meeting, const std::vector<int>& ranks, const std::string& name,
                   DeviceTimeline& timeline, SumKernel sum)
      : meeting_(meeting),
        timeline_(timeline),
        sum_(sum),
        transport_(meeting.interface_address()),
        context_(connect(ranks, name)),
        ring_(context_),
        queue_([this] { return transport_.cpu_time(); }) {}

  ~GlooCommunicator() override {
    if (queue_.busy()) break_off();
  }

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

  Ticket start(const CollectiveRequest& request) override {
    check(request);
    requests_.push_back({request.operation, request.input.size()});
    return queue_.push([this, request, tag = tag_++] { run(request, tag); });
  }

  void wait(Ticket ticket) override {
    const Seconds from = monotonic_now();
    timeline_.waited(from, record(ticket).end);
  }

  void wait_computing(Ticket ticket) override {
    const Seconds before = thread_cpu_time();
    int rounds = 0;
    for (; !queue_.ended(ticket); ++rounds) arithmetic();
    const Seconds used = thread_cpu_time() - before;
    wait(ticket);
    // Interrupts count as this thread's time, in which it got less done than it does undisturbed.
    const Seconds interrupts = used - rounds * arithmetic_round(ticket);
    queue_.add_host(ticket, std::max(Seconds(0), interrupts));
  }

  Seconds host_time(Ticket ticket) override { return record(ticket).host; }

  Seconds duration(Ticket ticket) override {
    const CallQueue::Record call = record(ticket);
    return call.end - call.begin;
  }

  CollectiveFacts facts(const CollectiveRequest& request) override {
    CollectiveFacts facts{"ring", "tcp", 1, {}};
    if (request.operation == Operation::broadcast) facts.algorithm = "tree";
    if (request.operation == Operation::all_to_all || request.operation == Operation::send_recv) {
      facts.algorithm = "direct";
    }
    return facts;
  }

 private:
  struct Asked {
    Operation operation;
    Bytes size;
  };

  std::shared_ptr<gloo::Context> connect(const std::vector<int>& ranks, const std::string& name) {
    const auto mine = std::ranges::find(ranks, meeting_.place().rank);
    auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(mine - ranks.begin()),
                                                               static_cast<int>(ranks.size()));
    context->setTimeout(call_timeout);
    GlooStore store(meeting_, "gloo/" + name + "/");
    try {
      context->connectFullMesh(store, transport_.device);
    } catch (const gloo::Exception& failure) {
      give_up("connecting ranks by Gloo over " + meeting_.interface_address(), failure);
    }
    return context;
  }

  void check(const CollectiveRequest& request) const {
    if (request.input.type != Dtype::fp32 || request.output.type != Dtype::fp32) {
      throw MachineError("the host backend communicates in fp32 only",
                         "set dtype = \"fp32\" in the scenario");
    }
    const std::int64_t in = request.input.count, out = request.output.count;
    const auto ranks = static_cast<std::int64_t>(size());
    bool fits = in == out;
    if (request.operation == Operation::all_gather) fits = out == ranks * in;
    if (request.operation == Operation::reduce_scatter) fits = in == ranks * out;
    if (request.operation == Operation::all_to_all) fits = fits && in % ranks == 0;
    STEPCAST_CHECK(fits, "sizes of a collective's input and output don't belong together");
    const float* const own_share = request.input.floats() + rank() * out;
    const bool apart = request.input.floats() + in <= request.output.floats() ||
                       request.output.floats() + out <= request.input.floats();
    if (request.operation == Operation::reduce_scatter) {
      STEPCAST_CHECK(apart || request.output.floats() == own_share,
                     "a reduce-scatter in place leaves the sum in the rank's own share");
    }
    if (request.operation == Operation::all_to_all || request.operation == Operation::send_recv) {
      STEPCAST_CHECK(apart || in == 0, "this collective can't run in place");
    }
  }

  void run(const CollectiveRequest& request, std::uint32_t tag) {
    const Tensor &in = request.input, &out = request.output;
    if (in.count == 0) return;
    const auto count = static_cast<std::size_t>(in.count), out_count = static_cast<std::size_t>(out.count);
    const auto add = [sum = sum_](void* to, const void* a, const void* b, std::size_t elements) {
      sum(static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(to),
          static_cast<std::int64_t>(elements));
    };
    switch (request.operation) {
      case Operation::all_reduce: {
        gloo::AllreduceOptions options(context_);
        options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
        if (in.data != out.data) options.setInput(in.floats(), count);
        options.setOutput(out.floats(), out_count);
        options.setReduceFunction(add);
        options.setTag(tag);
        return gloo::allreduce(options);
      }
      case Operation::broadcast: {
        gloo::BroadcastOptions options(context_);
        if (rank() == request.root && in.data != out.data) options.setInput(in.floats(), count);
        options.setOutput(out.floats(), out_count);
        options.setRoot(request.root);
        options.setTag(tag);
        return gloo::broadcast(options);
      }
      case Operation::reduce: {
        gloo::ReduceOptions options(context_);
        if (in.data != out.data) options.setInput(in.floats(), count);
        options.setOutput(out.floats(), out_count);
        options.setReduceFunction(add);
        options.setRoot(request.root);
        options.setTag(tag);
        return gloo::reduce(options);
      }
      case Operation::all_gather: {
        float* const own_share = out.floats() + rank() * in.count;
        if (in.floats() != own_share) std::memmove(own_share, in.floats(), count * sizeof(float));
        return ring_.all_gather(out.floats(), in.count, tag);
      }
      case Operation::reduce_scatter:
        return ring_.reduce_scatter(in.floats(), out.floats(), out.count, tag, sum_);
      case Operation::all_to_all: {
        gloo::AlltoallOptions options(context_);
        options.setInput(in.floats(), count);
        options.setOutput(out.floats(), out_count);
        options.setTag(tag);
        return gloo::alltoall(options);
      }
      case Operation::send_recv: {
        const auto slot = gloo::Slot::build(send_prefix, tag);
        const auto source = context_->createUnboundBuffer(in.data, count * sizeof(float));
        const auto target = context_->createUnboundBuffer(out.data, out_count * sizeof(float));
        target->recv((rank() + size() - 1) % size(), slot);
        source->send((rank() + 1) % size(), slot);
        target->waitRecv();
        source->waitSend();
        return;
      }
    }
  }

  // Some 15 us in registers: each step waits for the one before.
  static void arithmetic() {
    static volatile double result = 1;
    double value = result;
    for (int i = 0; i < 5000; ++i) value = value * 0.5 + 1;
    result = value;
  }

  // Time of a round of wait_computing's loop, with nothing under way: the median of several tens of rounds
  // each.
  Seconds arithmetic_round(Ticket ended) {
    constexpr int tens = 20;
    std::array<Seconds, 21> times;
    for (Seconds& time : times) {
      const Seconds before = thread_cpu_time();
      for (int round = 0; round < tens; ++round) {
        static_cast<void>(queue_.ended(ended));
        arithmetic();
      }
      time = (thread_cpu_time() - before) / tens;
    }
    std::ranges::nth_element(times, times.begin() + 10);
    return times[10];
  }

  CallQueue::Record record(Ticket ticket) {
    try {
      return queue_.wait(ticket);
    } catch (const gloo::Exception& failure) {
      const Asked& asked = requests_[static_cast<std::size_t>(ticket)];
      give_up(std::string(name_of(asked.operation)) + " of " + print_size(asked.size) + " among " +
                  std::to_string(size()) + " ranks",
              failure);
    }
  }

  [[noreturn]] void give_up(const std::string& what, const gloo::Exception& failure) {
    const std::string why = what + " failed: " + failure.what();
    meeting_.abandon(why);
    throw MachineError(why, "another rank ended, or the network between the ranks is down");
  }

  // Ends what is under way when the communicator goes away before its calls have ended: a wait that runs out
  // of time makes Gloo close all connections, also those that others wait on.
  void break_off() {
    float nothing{};
    try {
      const auto buffer = context_->createUnboundBuffer(&nothing, sizeof(nothing));
      buffer->recv((rank() + 1) % size(), gloo::Slot::build(send_prefix, tag_));
      buffer->waitRecv(std::chrono::milliseconds(1));
    } catch (const gloo::Exception&) {  // as meant, or broken before
    }
  }

  static constexpr std::uint8_t send_prefix = 0x41;  // Gloo's collectives have 0x01 to 0x08, the ring 0x40

  Meeting& meeting_;
  DeviceTimeline& timeline_;
  SumKernel sum_;
  Transport transport_;
  std::shared_ptr<gloo::Context> context_;
  Ring ring_;
  std::uint32_t tag_{};
  std::vector<Asked> requests_;  // by ticket
  CallQueue queue_;              // last: its thread uses all of the others
};

}  // namespace

std::unique_ptr<DeviceCommunicator> open_gloo_communicator(Meeting& meeting, const std::vector<int>& ranks,
                                                           const std::string& name, DeviceTimeline& timeline,
                                                           SumKernel sum) {
  // Gloo writes to sockets that a dead rank has closed; the error that it then sees must not be a signal that
  // ends this process before it has told what happened.
  std::signal(SIGPIPE, SIG_IGN);
  return std::make_unique<GlooCommunicator>(meeting, ranks, name, timeline, sum);
}

std::string gloo_version() {
  return std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) + "." +
         std::to_string(GLOO_VERSION_PATCH);
}

}  // namespace stepcast
