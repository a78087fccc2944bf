#include "topology/picture/dot.hpp"

namespace stepcast {
namespace {

struct Look {
  const char *kind, *colour, *width, *words;
};
constexpr Look looks[] = {
    {"nvlink", "#4c9a2a", "2.5", "NVLink"},         {"pcie", "#3b6fb6", "1.5", "PCIe"},
    {"host", "#777777", "2.5", "between sockets"},  {"nic", "#d9822b", "1.5", "card to switch"},
    {"fabric", "#a03c9e", "2", "between switches"},
};

const Look& look_of(const std::string& kind) {
  for (const Look& look : looks)
    if (kind == look.kind) return look;
  return looks[0];
}

}  // namespace

std::string dot_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string dot_head(const std::string& title) {
  return "graph topology {\n  label=" + dot_text(title) +
         "; labelloc=t; fontname=\"Helvetica\"; fontsize=18; bgcolor=white;\n"
         "  node [shape=box, style=\"filled,rounded\", color=\"#666666\", fontname=\"Helvetica\", "
         "fontsize=11];\n"
         "  edge [fontname=\"Helvetica\", fontsize=9, fontcolor=\"#333333\"];\n";
}

std::string dot_line(const std::string& kind) {
  const Look& look = look_of(kind);
  return std::string("color=\"") + look.colour + "\", penwidth=" + look.width;
}

DotColour dot_colour(const std::string& kind) { return {look_of(kind).colour, look_of(kind).words}; }

std::string dot_legend(const std::vector<DotColour>& colours) {
  std::string rows;
  for (const DotColour& entry : colours) {
    rows += "<tr><td width=\"30\" height=\"5\" fixedsize=\"true\" bgcolor=\"" + entry.colour +
            "\"></td><td align=\"left\">" + entry.words + "</td></tr>";
  }
  return "  legend [shape=plaintext, style=\"\", label=<<table border=\"0\" cellborder=\"0\" "
         "cellspacing=\"4\">" +
         rows + "</table>>];\n";
}

}  // namespace stepcast
