#pragma once

#include <string>
#include <vector>

namespace stepcast {

/// The head of a Graphviz file, up to its first own line.
[[nodiscard]] std::string dot_head(const std::string& title);
/// Colour and width of a line, by kind of link: nvlink, pcie, host, nic, fabric.
[[nodiscard]] std::string dot_line(const std::string& kind);
/// What a colour stands for.
struct DotColour {
  std::string colour, words;
};
[[nodiscard]] DotColour dot_colour(const std::string& kind);
/// A box that explains colours.
[[nodiscard]] std::string dot_legend(const std::vector<DotColour>& colours);
/// A text between quotes, as dot wants it.
[[nodiscard]] std::string dot_text(const std::string& text);

}  // namespace stepcast
