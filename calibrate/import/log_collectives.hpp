#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/nccl_tests_log.hpp"
#include "sim/cost/profile.hpp"

namespace stepcast {

/// What a log may not say and its owner knows. Each counts only where a log does not say it, except `node`,
/// `fabric` and `link_rate`, which hold for all logs.
struct LogContext {
  std::optional<Operation> operation;
  std::optional<int> ranks, nodes, gpus_per_node;
  std::optional<std::string> node;    ///< node type: the link class of groups inside one node
  std::optional<std::string> fabric;  ///< between nodes: "infiniband-400g"
  std::optional<BytesPerSecond> link_rate;
  bool in_place{};  ///< take the table's in-place half
};

struct LogCollectives {
  std::vector<MeasuredCollective> collectives;  ///< one for each operation and group, in the logs' order
  std::vector<std::string> notes;
};

/// The tables of nccl-tests logs as measured collectives of a profile. Times of a size that several runs
/// have give their geometric mean. A run of one rank measures no network and is left out with a note.
/// @throws ScenarioError with every figure that no log and no context says, each with the option that gives
/// it; and when nothing is left
[[nodiscard]] LogCollectives collectives_of(const std::vector<NcclTestsLog>& logs, const LogContext& context);

}  // namespace stepcast
