#pragma once

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/launch/connection.hpp"
#include "calibrate/launch/meeting.hpp"
#include "calibrate/launch/watch.hpp"

namespace stepcast {

/// How long ranks wait for each other; tests make these short.
struct MeetingLimits {
  Seconds meet{60};      ///< until all ranks are there
  Seconds heartbeat{1};  ///< from one sign of life to the next
  Seconds silence{8};    ///< without one, before a rank counts as stopped
  /// Between a rank's report of trouble and the end, because the cause is often another rank's death, which
  /// then shows itself. Below the second that mpirun leaves between SIGTERM and SIGKILL.
  Seconds grace{0.3};
};

/// Rank 0's server, on a thread of its own: keeps texts, lets ranks join, and watches them. All ranks, 0 as
/// well, are its guests.
class MeetingServer {
 public:
  /// @param own_end  the server's end of rank 0's connection
  MeetingServer(const Rendezvous& rendezvous, const MeetingLimits& limits, Socket listener, Socket own_end);
  MeetingServer(const MeetingServer&) = delete;
  MeetingServer& operator=(const MeetingServer&) = delete;
  /// Waits until all ranks have left, or were told to end.
  ~MeetingServer();

  /// Until the others have been told why all end, and have gone; two seconds at most.
  void wait_until_told() const { told_.wait_for(std::chrono::seconds(2)); }

 private:
  struct Guest {
    Connection connection;
    Seconds came;
    int rank{-1};  ///< -1: has not introduced itself
    std::string identity, host;
    bool left{}, closed{}, told_its_end{};
    std::optional<std::string> waits_for;            ///< key
    std::optional<std::vector<std::string>> joined;  ///< [kind, text]
  };

  void run();
  void wait_for_messages();
  void accept_guests();
  void read_from(Guest& guest);
  void answer(Guest& guest, const MeetingMessage& message);
  void welcome(Guest& guest, const MeetingMessage& hello);
  void all_met();
  void give(Guest& guest, const std::string& key);
  void join_when_all_have();
  void look_after_time();
  void say_farewell_to_rank_0();
  void propose(Verdict verdict, Seconds at);
  void end_all(const Verdict& verdict);
  [[nodiscard]] std::string missing_ranks() const;
  [[nodiscard]] bool everyone_has_met() const { return there_ == rendezvous_.size; }

  Rendezvous rendezvous_;
  MeetingLimits limits_;
  Socket listener_;
  std::vector<std::unique_ptr<Guest>> guests_;
  std::vector<Guest*> by_rank_;
  int there_{}, left_{};
  std::map<std::string, std::string> store_;
  Watch watch_;
  std::optional<Verdict> verdict_;
  Seconds verdict_at_, began_, last_look_, next_heartbeat_, next_note_;
  bool over_{};
  std::promise<void> tell_;
  std::future<void> told_{tell_.get_future()};
  std::thread thread_;
};

}  // namespace stepcast
