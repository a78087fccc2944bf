#pragma once

#include <optional>
#include <string>

namespace stepcast {

/// How NCCL decided to run a collective.
struct CollectiveEvent {
  std::string algorithm, protocol;  ///< as Algorithm and Protocol are named: "ring", "LL128"
  int channels{};
};

/// Makes NCCL look for its profiler in this program, unless the environment names another one. Before the
/// first communicator.
void offer_nccl_profiler();

/// The collective that NCCL last enqueued in this process, once.
[[nodiscard]] std::optional<CollectiveEvent> take_collective_event();

}  // namespace stepcast
