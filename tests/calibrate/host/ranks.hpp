#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/launch/meeting.hpp"

namespace stepcast {

/// Forks `count` processes that meet over files of a temporary directory and run `body`; a failure or
/// exception in any fails the test that calls this.
void with_ranks(int count, const std::function<void(Meeting&)>& body);

}  // namespace stepcast
