#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/backend.hpp"
#include "calibrate/launch/meeting.hpp"
#include "calibrate/trainer/trainer.hpp"

namespace stepcast {

/// A collective as it was issued: what it is, and the bytes of the full tensor.
struct IssuedCall {
  std::string group, operation;
  double bytes{};
  friend bool operator==(const IssuedCall&, const IssuedCall&) = default;
  friend std::ostream& operator<<(std::ostream& out, const IssuedCall& call) {
    return out << call.group << ' ' << call.operation << ' ' << call.bytes;
  }
};

/// Ranks that are threads of this test. Each computes on its own host device; collectives follow the
/// interface to the letter: inputs are read when a call is started, outputs are NaN from then until they are
/// waited for, so that a wait that is missing shows in the loss.
class Team {
 public:
  explicit Team(int size) : size_(size), texts_(static_cast<std::size_t>(size)) {}

  /// What a rank has to do with `backend` and `meeting`.
  using Body = std::function<void(Backend& backend, Meeting& meeting)>;
  /// Runs it on every rank. Rethrows what a rank threw.
  void run(const Body& body);
  /// Of rank 0.
  [[nodiscard]] const std::vector<IssuedCall>& issued() const { return issued_; }

 private:
  friend class TeamMeeting;
  friend class TeamCommunicator;
  friend class TeamBackend;
  struct Call {
    int started{};
    std::vector<std::vector<float>> inputs;  ///< by place in the group
  };

  /// All ranks' texts.
  std::vector<std::string> exchange(int rank, const std::string& text);

  int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
  int arrived_{}, left_{};
  std::vector<std::pair<std::string, Call>> calls_;  ///< by group and number
  std::vector<IssuedCall> issued_;
};

}  // namespace stepcast
