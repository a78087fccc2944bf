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

/// Keeps this process on a core of its own, its threads to come included: the one it is bound to, else the
/// index-th that it may use. Nothing where the ranks of the machine are more than the cores.
/// @return that core
std::optional<int> take_core(const MachineShare& share);

}  // namespace stepcast
