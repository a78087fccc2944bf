#include "calibrate/launch/tcp_meeting.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/diagnostic.hpp"
#include "calibrate/device.hpp"
#include "calibrate/launch/connection.hpp"
#include "calibrate/launch/node_identity.hpp"
#include "calibrate/launch/reach.hpp"
#include "calibrate/launch/signals.hpp"

namespace stepcast {
namespace {

/// Whatever keeps what was done waits for: the main thread may hold it for ever.
void end_in_ten_seconds(int exit_code) {
  std::thread([exit_code] {
    std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(exit_code);
  }).detach();
}

/// One rank's end of the meeting. Its thread sends signs of life, hands answers to the caller, and ends the
/// process when rank 0 says so or falls silent; it sleeps in poll otherwise.
class TcpMeeting final : public Meeting {
 public:
  TcpMeeting(const Rendezvous& rendezvous, const MeetingLimits& limits, Connection connection,
             std::unique_ptr<MeetingServer> server);
  TcpMeeting(const TcpMeeting&) = delete;
  TcpMeeting& operator=(const TcpMeeting&) = delete;
  ~TcpMeeting() override;

  const RankPlace& place() const override { return place_; }
  std::string interface_address() const override { return interface_address_; }
  void put(const std::string& key, const std::string& value) override {
    tell({MessageKind::put, {key, value}});
  }
  std::string get(const std::string& key) override { return ask({MessageKind::get, {key}}).at(0); }
  void barrier() override { (void)ask({MessageKind::join, {"barrier", ""}}); }
  std::vector<std::string> gather(const std::string& text) override {
    return ask({MessageKind::join, {"gather", text}});
  }
  std::string broadcast(const std::string& text_of_rank_0) override {
    return ask({MessageKind::join, {"broadcast", place_.rank == 0 ? text_of_rank_0 : ""}}).at(0);
  }
  void doing(const std::string& what, Seconds at_most) override;
  void on_abort(std::function<void()> keep_what_was_done) override;
  void abandon(const std::string& why) override;

 private:
  void tell(const MeetingMessage& message);
  [[nodiscard]] std::vector<std::string> ask(const MeetingMessage& message);
  void read_met(const std::vector<std::string>& fields);
  void wake();

  // On the thread.
  void listen();
  void wait_for_something(Seconds until);
  void pass_signals_on();
  void hear(const MeetingMessage& message);
  void look_after_rank_0();
  [[noreturn]] void end_process(int exit_code, const std::string& line);
  [[nodiscard]] std::string rank_0() const;
  [[nodiscard]] std::string during();
  void run_on_abort();

  MeetingLimits limits_;
  RankPlace place_;
  std::string interface_address_;

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  Connection connection_;
  std::optional<std::vector<std::string>> answer_;
  std::string what_;
  std::function<void()> on_abort_;
  bool met_{}, abandoned_{}, leaving_{}, over_{};
  std::optional<int> interrupted_;

  std::mutex asking_;  ///< one question at a time
  int exceptions_{std::uncaught_exceptions()};
  std::pair<Socket, Socket> waker_{socket_pair()};
  std::unique_ptr<MeetingServer> server_;
  Seconds heard_, last_look_, next_heartbeat_, interrupted_at_;
  SignalCatcher signals_{waker_.second};
  std::thread thread_;
};

TcpMeeting::TcpMeeting(const Rendezvous& rendezvous, const MeetingLimits& limits, Connection connection,
                       std::unique_ptr<MeetingServer> server)
    : limits_(limits), connection_(std::move(connection)), server_(std::move(server)) {
  place_.rank = rendezvous.rank;
  place_.size = rendezvous.size;
  place_.launcher = rendezvous.launcher;
  heard_ = last_look_ = next_heartbeat_ = steady_now();
  thread_ = std::thread([this] { listen(); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return met_; });
}

TcpMeeting::~TcpMeeting() {
  if (std::uncaught_exceptions() > exceptions_) {
    bool told{};
    {
      const std::lock_guard lock(mutex_);
      told = abandoned_;
      on_abort_ = nullptr;  // what it would keep may be gone
    }
    if (!told) abandon("an error that it printed itself");
  }
  {
    std::unique_lock lock(mutex_);
    if (abandoned_) {
      // Another rank may be the cause; then the thread ends this process without a word.
      changed_.wait_for(lock, std::chrono::duration<double>(limits_.silence.value), [this] { return over_; });
    } else {
      leaving_ = true;
      what_.clear();
      connection_.send({MessageKind::goodbye, {}});
      wake();
      changed_.wait(lock, [this] { return over_; });
    }
    over_ = true;
    wake();
  }
  thread_.join();
}

void TcpMeeting::wake() {
  const char byte = 0;
  (void)send(waker_.second.get(), &byte, 1, MSG_NOSIGNAL);
}

void TcpMeeting::tell(const MeetingMessage& message) {
  const std::lock_guard lock(mutex_);
  connection_.send(message);
  if (connection_.has_unsent()) wake();
}

std::vector<std::string> TcpMeeting::ask(const MeetingMessage& message) {
  const std::lock_guard one_at_a_time(asking_);
  tell(message);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return answer_.has_value(); });
  return *std::exchange(answer_, std::nullopt);
}

void TcpMeeting::doing(const std::string& what, Seconds at_most) {
  {
    const std::lock_guard lock(mutex_);
    what_ = what;
  }
  tell({MessageKind::doing, {what, std::to_string(at_most.value)}});
}

void TcpMeeting::on_abort(std::function<void()> keep_what_was_done) {
  const std::lock_guard lock(mutex_);
  on_abort_ = std::move(keep_what_was_done);
}

void TcpMeeting::abandon(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(abandoned_, true)) return;
  }
  tell({MessageKind::abandon, {why}});
  run_on_abort();
}

void TcpMeeting::run_on_abort() {
  std::function<void()> keep;
  {
    const std::lock_guard lock(mutex_);
    keep = std::exchange(on_abort_, nullptr);
  }
  if (place_.rank != 0 || !keep) return;
  try {
    keep();
  } catch (const std::exception& error) {
    std::cerr << "stepcast: error: what was done could not be kept: " + std::string(error.what()) + "\n";
  }
}

void TcpMeeting::read_met(const std::vector<std::string>& fields) {
  RankPlace& place = place_;
  for (std::size_t at = 0; at + 2 < fields.size(); at += 3) {
    place.node_of_rank.push_back(std::atoi(fields[at].c_str()));
    place.host_of_rank.push_back(fields[at + 1]);
  }
  const auto self = static_cast<std::size_t>(place.rank);
  place.node = place.node_of_rank.at(self);
  place.host = place.host_of_rank.at(self);
  place.nodes = 1 + *std::max_element(place.node_of_rank.begin(), place.node_of_rank.end());
  const auto begin = place.node_of_rank.begin();
  place.local_rank = static_cast<int>(std::count(begin, begin + place.rank, place.node));
  place.local_size = static_cast<int>(std::count(begin, place.node_of_rank.end(), place.node));
  interface_address_ = fields.at(3 * self + 2);
}

std::string TcpMeeting::rank_0() const {
  return "rank 0" + (met_ ? " (host " + place_.host_of_rank[0] + ")" : "");
}

std::string TcpMeeting::during() {
  const std::lock_guard lock(mutex_);
  const std::string self = "rank " + std::to_string(place_.rank);
  return what_.empty() ? "" : ", while " + self + " was in \"" + what_ + "\"";
}

void TcpMeeting::listen() {
  while (true) {
    wait_for_something(next_heartbeat_);
    pass_signals_on();
    std::string broken;
    {
      std::unique_lock lock(mutex_);
      if (over_) return;
      connection_.flush();
      if (!connection_.receive()) broken = "ended";
    }
    try {
      while (true) {
        std::optional<MeetingMessage> message;
        {
          const std::lock_guard lock(mutex_);
          message = connection_.next();
        }
        if (!message) break;
        hear(*message);
      }
    } catch (const ProtocolFault& fault) {
      broken = std::string("sends what isn't understood (") + fault.what() + ")";
    }
    {
      const std::lock_guard lock(mutex_);
      if (over_) return;
      if (leaving_ && !broken.empty()) {
        over_ = true;
        changed_.notify_all();
        return;
      }
    }
    if (!broken.empty()) {
      if (interrupted_) end_process(128 + *interrupted_, "");
      end_process(3, rank_0() + " " + broken + during());
    }
    look_after_rank_0();
  }
}

void TcpMeeting::wait_for_something(Seconds until) {
  short events = POLLIN;
  int descriptor{};
  {
    const std::lock_guard lock(mutex_);
    if (connection_.has_unsent()) events |= POLLOUT;
    descriptor = connection_.socket().get();
  }
  std::array<pollfd, 2> waiting{{{descriptor, events, 0}, {waker_.first.get(), POLLIN, 0}}};
  const double rest = std::max(0.0, (until - steady_now()).value);
  poll(waiting.data(), waiting.size(), static_cast<int>(std::ceil(rest * 1e3)));
}

void TcpMeeting::pass_signals_on() {
  std::array<char, 64> bytes{};
  const ssize_t count = recv(waker_.first.get(), bytes.data(), bytes.size(), 0);
  for (ssize_t i = 0; i < count; ++i) {
    const int signal = bytes[static_cast<std::size_t>(i)];
    if (signal == 0 || interrupted_) continue;
    interrupted_ = signal;
    interrupted_at_ = steady_now();
    tell({MessageKind::interrupted, {std::to_string(signal)}});
    // Launchers kill soon after they have asked to end.
    if (signal == SIGTERM) {
      end_in_ten_seconds(128 + signal);
      run_on_abort();
    }
  }
}

void TcpMeeting::hear(const MeetingMessage& message) {
  heard_ = steady_now();
  const auto& fields = message.fields;
  if (message.kind == MessageKind::heartbeat || message.kind == MessageKind::welcome) return;
  if (message.kind == MessageKind::end) {
    const int culprit = std::atoi(fields.at(1).c_str());
    {
      const std::lock_guard lock(mutex_);
      if (abandoned_ && culprit == place_.rank) {
        over_ = true;
        changed_.notify_all();
        return;
      }
    }
    end_process(std::atoi(fields.at(0).c_str()), place_.rank == 0 ? fields.at(2) : "");
  }
  const std::lock_guard lock(mutex_);
  if (message.kind == MessageKind::met) {
    read_met(fields);
    met_ = true;
  } else if (message.kind == MessageKind::answer) {
    answer_ = fields;
  } else if (message.kind == MessageKind::farewell) {
    over_ = true;
  } else {
    throw ProtocolFault("a message that only ranks send");
  }
  changed_.notify_all();
}

void TcpMeeting::look_after_rank_0() {
  const Seconds now = steady_now();
  const Seconds gap = now - last_look_;
  last_look_ = now;
  if (gap > 3.0 * limits_.heartbeat) heard_ += gap;  // this process was stopped
  if (interrupted_ && now - interrupted_at_ > Seconds(2)) end_process(128 + *interrupted_, "");
  if (now - heard_ > limits_.silence) {
    end_process(3, rank_0() + " has been silent for " + std::to_string(std::lround((now - heard_).value)) +
                       " s" + during() + ": its process is stopped, or its host or network is down");
  }
  if (now < next_heartbeat_) return;
  next_heartbeat_ = now + limits_.heartbeat;
  tell({MessageKind::heartbeat, {}});
}

void TcpMeeting::end_process(int exit_code, const std::string& line) {
  constexpr int interrupt_code = 128 + SIGINT;
  if (!line.empty()) {
    const std::string text = (exit_code == interrupt_code ? "stepcast: " : "stepcast: error: ") + line + "\n";
    if (write(STDERR_FILENO, text.data(), text.size()) < 0) {
      // Nobody reads it; the exit code tells.
    }
  }
  end_in_ten_seconds(exit_code);
  run_on_abort();
  std::cout.flush();
  std::fflush(stdout);
  if (server_) server_->wait_until_told();
  std::_Exit(exit_code);
}

}  // namespace

std::unique_ptr<Meeting> meet_over_tcp(const Rendezvous& rendezvous, const ServerPlace& place,
                                       Socket listener, const MeetingLimits& limits) {
  std::unique_ptr<MeetingServer> server;
  Connection connection;
  if (rendezvous.rank == 0) {
    auto [own_end, servers_end] = socket_pair();
    server = std::make_unique<MeetingServer>(rendezvous, limits, std::move(listener), std::move(servers_end));
    connection = Connection(std::move(own_end));
    connection.send(introduction(rendezvous));
  } else {
    connection = reach_rank_0(rendezvous, place, limits);
  }
  return std::make_unique<TcpMeeting>(rendezvous, limits, std::move(connection), std::move(server));
}

}  // namespace stepcast
