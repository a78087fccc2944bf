#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace stepcast {

/// Reading of text with a unit: "400 Gb/s", "25 GB/s" (1e9), "64 MiB" (2^20), "5 us", "500 Melements".
/// Each returns nothing when the text is not a number followed by an accepted unit (a space between is
/// optional). Signs and non-finite numbers are not accepted.
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);      // B kB MB GB TB KiB MiB GiB TiB
[[nodiscard]] std::optional<Seconds> parse_seconds(std::string_view text);  // ps ns us ms s min h
[[nodiscard]] std::optional<BytesPerSecond> parse_rate(
    std::string_view text);  // kb/s Mb/s Gb/s Tb/s B/s ... GiB/s
[[nodiscard]] std::optional<FlopPerSecond> parse_flops(std::string_view text);  // GFLOP/s TFLOP/s PFLOP/s
[[nodiscard]] std::optional<double> parse_elements(
    std::string_view text);  // elements kelements Melements Gelements

/// What an error lists as accepted.
inline constexpr std::string_view bytes_units =
    "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB (for example \"64 MiB\")";
inline constexpr std::string_view seconds_units = "ps, ns, us, ms, s, min, h (for example \"5 us\")";
inline constexpr std::string_view rate_units =
    "b/s, kb/s, Mb/s, Gb/s, Tb/s, B/s, kB/s, MB/s, GB/s, TB/s, MiB/s, GiB/s (for example \"400 Gb/s\")";
inline constexpr std::string_view flops_units = "GFLOP/s, TFLOP/s, PFLOP/s (for example \"312 TFLOP/s\")";
inline constexpr std::string_view elements_units =
    "elements, kelements, Melements, Gelements (for example \"500 Melements\")";

}  // namespace stepcast
