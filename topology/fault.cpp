#include "topology/fault.hpp"

#include <charconv>

namespace stepcast {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

}  // namespace

FaultEnds ends_of(std::string_view at) {
  // Blanks around the dash, since a name may hold one.
  for (const std::string_view dash : {" <-> ", " -> ", " - "}) {
    const auto place = at.find(dash);
    if (place != std::string_view::npos)
      return {trimmed(at.substr(0, place)), trimmed(at.substr(place + dash.size()))};
  }
  return {trimmed(at), ""};
}

std::optional<NodePart> node_part_of(const std::string& device) {
  constexpr std::string_view prefix = "node";
  const auto dot = device.find('.');
  if (!device.starts_with(prefix) || dot == std::string::npos) return std::nullopt;
  NodePart part;
  const char* const end = device.data() + dot;
  const auto [stop, error] = std::from_chars(device.data() + prefix.size(), end, part.node);
  if (error != std::errc{} || stop != end || part.node < 0) return std::nullopt;
  part.part = device.substr(dot + 1);
  return part;
}

}  // namespace stepcast
