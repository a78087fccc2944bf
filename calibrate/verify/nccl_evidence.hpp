#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/verify/hypotheses.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// A line that speaks for a cause.
struct Evidence {
  Cause cause{};
  unsigned line{};   ///< of the file, from 1
  std::string text;  ///< the line from "NCCL INFO" on, shortened
};

/// What a log says of causes.
struct Testimony {
  std::vector<Evidence> evidence;
  std::set<Cause> refuted;  ///< causes that lines speak against, and none for
};

/// What NCCL's INFO lines (NCCL_DEBUG=INFO, with GRAPH more), its topology dumps and environment variables
/// say against the scenario: one line for each kind of evidence, the first of its kind. Channels over several
/// cards, over RDMA, with GDRDMA, and reads among peers refute that one card, TCP, host memory or PCIe
/// carried them.
[[nodiscard]] Testimony find_evidence(std::string_view log, const Scenario& scenario);

}  // namespace stepcast
