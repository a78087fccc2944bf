#pragma once

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "calibrate/backend.hpp"
#include "calibrate/launch/meeting.hpp"

namespace stepcast {

/// Time that only scripted work passes.
struct FakeClock {
  Seconds now;
};

/// A device whose kernels do nothing and take what a script says.
class FakeDevice : public ComputeDevice {
 public:
  explicit FakeDevice(FakeClock& clock) : clock_(clock) {
    facts_.profile_name = "cpu-host";
    facts_.model = "fake";
    facts_.memory_capacity = gibibytes(1);
    facts_.dtypes = {Dtype::fp32};
  }

  /// Seconds of the n-th kernel (from 0) that runs inside timed().
  std::function<double(int)> script = [](int) { return 1e-3; };
  int kernels{};

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }
  [[nodiscard]] std::shared_ptr<void> allocate(std::int64_t bytes) override {
    return {std::malloc(static_cast<std::size_t>(bytes)), std::free};
  }
  [[nodiscard]] Bytes take_peak_memory() override { return {}; }
  void upload(Tensor, const float*) override { clock_.now += Seconds(script(kernels++)); }
  void download(Tensor, float*) override { clock_.now += Seconds(script(kernels++)); }
  void upload_ids(void*, const std::int32_t*, std::int64_t) override {}
  void fill_random(Tensor, std::uint64_t, float) override {}
  void gemm(const GemmCall& call) override {
    operands.push_back(call.a.data);
    issue();
  }
  void bias_forward(Tensor, Tensor, std::int64_t) override { issue(); }
  void bias_backward(Tensor, Tensor, std::int64_t) override { issue(); }
  void norm_forward(Tensor, Tensor, Tensor, Tensor, Tensor, std::int64_t) override { issue(); }
  void norm_backward(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, std::int64_t) override {
    issue();
  }
  void activation_forward(PointWise, Tensor, Tensor) override { issue(); }
  void activation_backward(PointWise, Tensor, Tensor, Tensor) override { issue(); }
  void add(Tensor, Tensor, Tensor) override { issue(); }
  [[nodiscard]] std::int64_t attention_saved(const AttentionCall& call) const override {
    return call.samples * call.heads * call.length;
  }
  void attention_forward(const AttentionCall&) override { issue(); }
  void attention_backward(const AttentionCall&, Tensor, Tensor) override { issue(); }
  void embedding_forward(const void*, Tensor, Tensor, Tensor, std::int64_t, std::int64_t) override {
    issue();
  }
  void embedding_backward(const void*, Tensor, Tensor, Tensor, std::int64_t, std::int64_t) override {
    issue();
  }
  void cross_entropy(Tensor, const void*, Tensor, std::int64_t, float) override { issue(); }
  void adamw(Tensor, Tensor, Tensor, Tensor, const AdamW&) override { issue(); }
  void copy(Tensor, Tensor, float) override { issue(); }
  void zero(Tensor) override {}
  void pause(Seconds) override {}
  void synchronize() override {}
  Sample timed(const std::function<void()>& body) override {
    pending_ = Seconds();
    const int before = kernels;
    timing_ = true;
    body();
    timing_ = false;
    clock_.now += pending_;
    Sample sample;
    sample.time = sample.busy = sample.host = pending_;
    sample.kernels = kernels - before;
    return sample;
  }

  std::vector<void*> operands;  ///< of every gemm

 private:
  void issue() {
    if (timing_) pending_ += Seconds(script(kernels++));
  }

  FakeClock& clock_;
  DeviceFacts facts_;
  Seconds pending_;
  bool timing_{};
};

/// Collectives that take what a script says of their size in bytes.
class FakeCommunicator : public DeviceCommunicator {
 public:
  FakeCommunicator(int rank, int size, FakeClock& clock, std::function<double(double)> script)
      : rank_(rank), size_(size), clock_(clock), script_(std::move(script)) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] Ticket start(const CollectiveRequest& request) override {
    durations_.emplace_back(script_(std::max(request.input.size(), request.output.size()).value));
    clock_.now += durations_.back();
    return static_cast<Ticket>(durations_.size()) - 1;
  }
  void wait(Ticket) override {}
  [[nodiscard]] Seconds host_time(Ticket ticket) override { return duration(ticket) / 4; }
  [[nodiscard]] Seconds duration(Ticket ticket) override {
    return durations_.at(static_cast<std::size_t>(ticket));
  }
  [[nodiscard]] CollectiveFacts facts(const CollectiveRequest&) override { return {"ring", "", 1, {}}; }

 private:
  int rank_, size_;
  FakeClock& clock_;
  std::function<double(double)> script_;
  std::vector<Seconds> durations_;
};

class FakeBackend : public Backend {
 public:
  explicit FakeBackend(int rank = 0) : rank_(rank), device_(clock) {}

  FakeClock clock;
  std::function<double(double)> collective = [](double bytes) { return 1e-4 + bytes / 1e9; };

  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] FakeDevice& device() override { return device_; }
  [[nodiscard]] std::unique_ptr<DeviceCommunicator> communicator(const std::vector<int>& ranks) override {
    return std::make_unique<FakeCommunicator>(rank_, static_cast<int>(ranks.size()), clock, collective);
  }
  [[nodiscard]] std::vector<std::string> neighbours() const override { return {}; }

 private:
  int rank_;
  FakeDevice device_;
};

/// What threads that play ranks share.
class FakeHall {
 public:
  explicit FakeHall(int ranks) : ranks_(ranks), texts_(static_cast<std::size_t>(ranks)) {}

  /// Every rank's text, once all have come. @throws MachineError when one has given up
  std::vector<std::string> exchange(int rank, const std::string& text) {
    std::unique_lock lock(mutex_);
    const auto round = round_;
    texts_[static_cast<std::size_t>(rank)] = text;
    if (++here_ == ranks_) {
      here_ = 0;
      ++round_;
      last_ = texts_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round || !why_.empty(); });
    if (round_ == round) throw MachineError(why_);
    return last_;
  }
  void give_up(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) why_ = why;
    changed_.notify_all();
  }

 private:
  int ranks_, here_{};
  long round_{};
  std::vector<std::string> texts_, last_;
  std::string why_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// One rank a node.
inline RankPlace spread_ranks(int rank, int ranks, int ranks_per_node = 1) {
  RankPlace place;
  place.rank = rank;
  place.size = ranks;
  place.nodes = ranks / ranks_per_node;
  place.node = rank / ranks_per_node;
  place.local_rank = rank % ranks_per_node;
  place.local_size = ranks_per_node;
  for (int i = 0; i < ranks; ++i) {
    place.node_of_rank.push_back(i / ranks_per_node);
    place.host_of_rank.push_back("node" + std::to_string(i / ranks_per_node));
  }
  place.host = place.host_of_rank[static_cast<std::size_t>(rank)];
  return place;
}

class FakeMeeting : public Meeting {
 public:
  FakeMeeting(FakeHall& hall, RankPlace place) : hall_(hall), place_(std::move(place)) {}

  std::vector<std::string> done;  ///< what doing() was told
  std::string abandoned;

  [[nodiscard]] const RankPlace& place() const override { return place_; }
  [[nodiscard]] std::string interface_address() const override { return "127.0.0.1"; }
  void put(const std::string&, const std::string&) override {}
  [[nodiscard]] std::string get(const std::string&) override { return ""; }
  void barrier() override { (void)hall_.exchange(place_.rank, ""); }
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override {
    const std::vector<std::string> all = hall_.exchange(place_.rank, text);
    return place_.rank == 0 ? all : std::vector<std::string>{};
  }
  [[nodiscard]] std::string broadcast(const std::string& text) override {
    return hall_.exchange(place_.rank, text).front();
  }
  void doing(const std::string& what, Seconds) override { done.push_back(what); }
  void on_abort(std::function<void()>) override {}
  void abandon(const std::string& why) override {
    abandoned = why;
    hall_.give_up(why);
  }

 private:
  FakeHall& hall_;
  RankPlace place_;
};

}  // namespace stepcast
