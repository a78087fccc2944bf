#pragma once

#include <memory>

#include "calibrate/launch/meeting.hpp"

namespace stepcast {

/// The meeting of one process: no sockets, no threads, no one to wait for.
[[nodiscard]] std::unique_ptr<Meeting> meet_alone(const std::string& launcher);

}  // namespace stepcast
