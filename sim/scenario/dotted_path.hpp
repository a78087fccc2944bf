#pragma once

#include <string>
#include <vector>

#include "base/document.hpp"

namespace stepcast {

/// The value at "section.key"; nullptr when there is none.
[[nodiscard]] const Value* find_dotted(const Value& document, const std::string& path);

/// Writes a value at a dotted path, making the tables on the way. A path that is none, or that leads through
/// a value which is no table, is a fault at `value`.
void assign_dotted(Value& document, const std::string& path, const Value& value,
                   std::vector<Diagnostic>& faults);

}  // namespace stepcast
