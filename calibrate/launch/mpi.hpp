#pragma once

#include <string>

#include "calibrate/launch/meeting.hpp"

namespace stepcast {

/// Rank 0's text on every rank. MPI is begun and ended for it.
/// @throws MachineError where the program was built without MPI, or with another MPI than the launcher's
[[nodiscard]] std::string broadcast_through_mpi(const Rendezvous& rendezvous,
                                                const std::string& text_of_rank_0);

}  // namespace stepcast
