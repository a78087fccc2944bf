#pragma once

#include <string>

namespace stepcast {

/// What people call this node: STEPCAST_HOST_NAME, else gethostname().
[[nodiscard]] std::string host_name();

/// Equal for two processes of one node, and different for two nodes: name, boot and network namespace,
/// because containers and test clusters put several nodes into one kernel.
[[nodiscard]] std::string node_identity();

}  // namespace stepcast
