#pragma once

#include "calibrate/backend.hpp"
#include "calibrate/launch/meeting.hpp"

namespace stepcast {

/// This machine's GPU; null, after a word to stderr, where there is none.
Backend* gpu_backend();

}  // namespace stepcast
