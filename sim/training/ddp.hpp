#pragma once

#include "sim/training/reducer.hpp"

namespace stepcast {

/// All micro-batches of a DDP step up to the averaged gradients (facts 12.1, points 1-5).
/// @return the streams' last event; what follows on the compute stream has all gradients
void plan_ddp_gradients(StepContext& context, int stream, int communicator);

}  // namespace stepcast
