#pragma once

#include <string>

namespace stepcast {

/// True when Graphviz's `dot` can be run.
[[nodiscard]] bool graphviz_is_here();

/// A drawing in SVG. Needs graphviz_is_here().
/// @throws InternalError when dot does not take the text
[[nodiscard]] std::string draw_svg(const std::string& dot);

}  // namespace stepcast
