#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/launch/meeting.hpp"

namespace stepcast {

/// Where this rank stands among those of the meeting that run on the same kernel, which on a test cluster of
/// network namespaces are more than those of its node.
struct MachineShare {
  int index{}, ranks{1};
  std::vector<int> processes;  ///< their ids, in rank order
};
/// Called by all ranks of the meeting.
[[nodiscard]] MachineShare share_machine(Meeting& meeting);

/// "model name" of /proc/cpuinfo.
[[nodiscard]] std::string processor_model();
/// The smaller of the machine's memory and this process's cgroup limits.
[[nodiscard]] std::int64_t memory_limit();

/// Keeps the calling thread, and those that it starts, on a core of their own: the one that it is bound to
/// already, else the index-th that it may use; on none where the ranks of the machine are more than the
/// cores. It may go anywhere again when this object ends.
class OwnCore {
 public:
  explicit OwnCore(const MachineShare& share);
  OwnCore(const OwnCore&) = delete;
  OwnCore& operator=(const OwnCore&) = delete;
  ~OwnCore();
  [[nodiscard]] std::optional<int> number() const { return number_; }

 private:
  std::optional<int> number_;
  std::vector<int> allowed_before_;  // empty: nothing was changed
};

}  // namespace stepcast
