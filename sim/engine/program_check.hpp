#pragma once

#include "sim/engine/program.hpp"

namespace stepcast {

/// Throws InternalError, with the place and what is wrong, when a program cannot be run: indices out of
/// range, negative or non-finite costs, a call whose tasks are not exactly its participants (one a rank), or
/// tasks of one step that wait for each other in a circle, through waits, stream order, a blocked CPU, or a
/// communicator order that differs between ranks. Linear in tasks and waits; simulate() calls it.
void check(const Program& program);

}  // namespace stepcast
