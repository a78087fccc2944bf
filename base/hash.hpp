#pragma once

#include <cstdint>

namespace stepcast {

inline constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15U;  ///< 2^64 over it, odd

/// Finalizer of SplitMix64: every bit of the result depends on every bit of the value.
/// Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014, as published
/// by S. Vigna (splitmix64, public domain).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

/// The number that SplitMix64 gives after `state`. Unlike mixed(), it does not leave 0 where it is.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t state) { return mixed(state + golden_ratio); }

}  // namespace stepcast
