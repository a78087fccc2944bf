#include "team.hpp"

#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <stdexcept>
#include <thread>

#include "calibrate/launch/lone_meeting.hpp"

namespace stepcast {

class TeamMeeting : public Meeting {
 public:
  TeamMeeting(Team& team, int rank) : team_(team) {
    place_.rank = rank;
    place_.size = team.size_;
  }
  const RankPlace& place() const override { return place_; }
  std::string interface_address() const override { return "127.0.0.1"; }
  void put(const std::string&, const std::string&) override {}
  std::string get(const std::string&) override { return ""; }
  void barrier() override { (void)team_.exchange(place_.rank, ""); }
  std::vector<std::string> gather(const std::string& text) override {
    std::vector<std::string> all = team_.exchange(place_.rank, text);
    return place_.rank == 0 ? all : std::vector<std::string>{};
  }
  std::string broadcast(const std::string& text) override { return team_.exchange(place_.rank, text)[0]; }
  void doing(const std::string&, Seconds) override {}
  void on_abort(std::function<void()>) override {}
  void abandon(const std::string&) override {}

 private:
  Team& team_;
  RankPlace place_;
};

class TeamCommunicator : public DeviceCommunicator {
 public:
  TeamCommunicator(Team& team, std::string name, std::vector<int> ranks, int global_rank)
      : team_(team), name_(std::move(name)), ranks_(std::move(ranks)), global_rank_(global_rank) {
    while (ranks_[static_cast<std::size_t>(rank_)] != global_rank) ++rank_;
  }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  Ticket start(const CollectiveRequest& request) override {
    const bool gathers = request.operation == Operation::all_gather;
    const std::lock_guard lock(team_.mutex_);
    Team::Call& call = call_of(static_cast<int>(requests_.size()));
    call.inputs.resize(ranks_.size());
    const float* input = request.input.floats();
    call.inputs[static_cast<std::size_t>(rank_)].assign(input, input + request.input.count);
    ++call.started;
    if (global_rank_ == 0) {
      team_.issued_.push_back({name_, std::string(name_of(request.operation)),
                               (gathers ? request.output : request.input).size().value});
    }
    std::fill_n(request.output.floats(), request.output.count, std::numeric_limits<float>::quiet_NaN());
    requests_.push_back(request);
    team_.changed_.notify_all();
    return static_cast<Ticket>(requests_.size()) - 1;
  }

  void wait(Ticket ticket) override {
    std::unique_lock lock(team_.mutex_);
    team_.changed_.wait(lock, [&] { return call_of(ticket).started == size(); });
    const std::vector<std::vector<float>>& inputs = call_of(ticket).inputs;
    const CollectiveRequest& request = requests_[static_cast<std::size_t>(ticket)];
    float* output = request.output.floats();
    if (request.operation == Operation::all_gather) {
      for (const std::vector<float>& input : inputs) output = std::copy(input.begin(), input.end(), output);
      return;
    }
    const bool scatters = request.operation == Operation::reduce_scatter;
    const std::int64_t first = scatters ? rank_ * request.output.count : 0;
    for (std::int64_t i = 0; i < request.output.count; ++i) {
      float sum = 0;
      for (const std::vector<float>& input : inputs) sum += input.at(static_cast<std::size_t>(first + i));
      output[i] = sum;
    }
  }
  Seconds host_time(Ticket) override { return {}; }
  Seconds duration(Ticket) override { return {}; }
  CollectiveFacts facts(const CollectiveRequest&) override { return {}; }

 private:
  Team::Call& call_of(int number) {
    const std::string key = name_ + std::to_string(ranks_.front()) + "#" + std::to_string(number);
    for (auto& [name, call] : team_.calls_) {
      if (name == key) return call;
    }
    return team_.calls_.emplace_back(key, Team::Call{}).second;
  }

  Team& team_;
  std::string name_;
  std::vector<int> ranks_;
  int global_rank_, rank_{};
  std::vector<CollectiveRequest> requests_;
};

class TeamBackend : public Backend {
 public:
  TeamBackend(Team& team, int rank)
      : team_(team), rank_(rank), alone_(meet_alone("none")), host_(open_host_backend(*alone_)) {}
  std::string_view name() const override { return "team"; }
  ComputeDevice& device() override { return host_->device(); }
  std::unique_ptr<DeviceCommunicator> communicator(const std::vector<int>& ranks) override {
    // As the planner names them.
    const bool all = static_cast<int>(ranks.size()) == team_.size_;
    const bool neighbours = ranks.size() > 1 && ranks[1] == ranks[0] + 1;
    const char* name = all ? "data_parallel" : neighbours ? "shard" : "replicate";
    return std::make_unique<TeamCommunicator>(team_, name, ranks, rank_);
  }
  std::vector<std::string> neighbours() const override { return {}; }

 private:
  Team& team_;
  int rank_;
  std::unique_ptr<Meeting> alone_;
  std::unique_ptr<Backend> host_;
};

std::vector<std::string> Team::exchange(int rank, const std::string& text) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return left_ == 0; });
  texts_[static_cast<std::size_t>(rank)] = text;
  ++arrived_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return arrived_ == size_; });
  std::vector<std::string> all = texts_;
  if (++left_ == size_) arrived_ = left_ = 0;
  changed_.notify_all();
  return all;
}

void Team::run(const Body& body) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> faults(static_cast<std::size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        TeamBackend backend(*this, rank);
        TeamMeeting meeting(*this, rank);
        body(backend, meeting);
      } catch (...) {
        faults[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& fault : faults) {
    if (fault) std::rethrow_exception(fault);
  }
}

}  // namespace stepcast
