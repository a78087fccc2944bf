#pragma once

#include <string>

namespace stepcast {

/// What a file of measurements is, by how its text begins (inflated where it is gzip'd).
enum class InputKind { log, trace, kernel_table };

/// A trace begins as JSON does, a kernel table of Nsight Systems has a header of its columns; all else is
/// taken for a log. @throws ScenarioError when it can't be read
[[nodiscard]] InputKind input_kind(const std::string& file);

}  // namespace stepcast
