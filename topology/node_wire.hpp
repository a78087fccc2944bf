#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace stepcast {

/// One end of a wire inside a node: "gpu0", "nvswitch0", "pcie3", "host1", "nic2".
struct WireEnd {
  enum class Kind { gpu, nvswitch, pcie, host, nic } kind{};
  int index{};

  friend constexpr auto operator<=>(const WireEnd&, const WireEnd&) = default;
  [[nodiscard]] std::string name() const;
};

/// Nothing for other words, and for numbers above 4095.
[[nodiscard]] std::optional<WireEnd> parse_wire_end(std::string_view name);
[[nodiscard]] std::string_view word_of(WireEnd::Kind kind);  ///< "gpu", "pcie"

/// A cable or bus between two devices of a node, alike in both directions.
///
/// What it is follows from its ends: GPU and GPU or NVSwitch: NVLink; host and host: between sockets; all
/// others PCIe (GPU and host also NVLink-C2C).
struct NodeWire {
  WireEnd first, second;
  BytesPerSecond rate{};  ///< of one direction, all its NVLinks together
  int links{1};           ///< NVLinks in it

  [[nodiscard]] bool is_nvlink() const {
    return first.kind <= WireEnd::Kind::nvswitch && second.kind <= WireEnd::Kind::nvswitch;
  }
  [[nodiscard]] bool is_between_sockets() const {
    return first.kind == WireEnd::Kind::host && second.kind == WireEnd::Kind::host;
  }
};

}  // namespace stepcast
