#include "topology/node_wire.hpp"

#include <charconv>
#include <iterator>

namespace stepcast {
namespace {

constexpr std::string_view words[] = {"gpu", "nvswitch", "pcie", "host", "nic"};
constexpr int greatest_index = 4095;

}  // namespace

std::string_view word_of(WireEnd::Kind kind) { return words[static_cast<int>(kind)]; }

std::string WireEnd::name() const { return std::string(word_of(kind)) + std::to_string(index); }

std::optional<WireEnd> parse_wire_end(std::string_view name) {
  for (std::size_t kind = 0; kind < std::size(words); ++kind) {
    if (!name.starts_with(words[kind])) continue;
    const std::string_view digits = name.substr(words[kind].size());
    if (digits.empty() || (digits.size() > 1 && digits.front() == '0')) continue;
    int index = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, index);
    if (error == std::errc{} && stop == end && index >= 0 && index <= greatest_index)
      return WireEnd{static_cast<WireEnd::Kind>(kind), index};
  }
  return std::nullopt;
}

}  // namespace stepcast
