#pragma once

#include <compare>
#include <cstdint>

namespace stepcast {

/// A number with a unit in its type: same-unit sums, scaling and ratios; nothing else.
template <class Tag>
struct Quantity {
  double value{};
  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(k * a.value); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(k * a.value); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
};

using Bytes = Quantity<struct BytesTag>;
using Seconds = Quantity<struct SecondsTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using Flop = Quantity<struct FlopTag>;  ///< one multiply and one add are two
using FlopPerSecond = Quantity<struct FlopPerSecondTag>;

constexpr Seconds operator/(Bytes size, BytesPerSecond rate) { return Seconds(size.value / rate.value); }
constexpr Seconds operator/(Flop work, FlopPerSecond rate) { return Seconds(work.value / rate.value); }
constexpr Bytes operator*(BytesPerSecond rate, Seconds time) { return Bytes(rate.value * time.value); }

constexpr BytesPerSecond gigabits_per_second(double n) { return BytesPerSecond(n * 1e9 / 8); }
constexpr BytesPerSecond gigabytes_per_second(double n) { return BytesPerSecond(n * 1e9); }
constexpr Bytes kibibytes(double n) { return Bytes(n * 1024); }
constexpr Bytes mebibytes(double n) { return Bytes(n * 1024 * 1024); }
constexpr Bytes gibibytes(double n) { return Bytes(n * 1024 * 1024 * 1024); }
constexpr Seconds microseconds(double n) { return Seconds(n * 1e-6); }
constexpr FlopPerSecond teraflops(double n) { return FlopPerSecond(n * 1e12); }

/// Numeric formats of tensors. `tf32` computes as TF32 and stores 4 bytes.
enum class Dtype { fp32, tf32, bf16, fp16, fp8 };

/// Bytes that one element takes in memory and on the wire.
constexpr double element_size(Dtype type) {
  switch (type) {
    case Dtype::fp32:
    case Dtype::tf32:
      return 4;
    case Dtype::bf16:
    case Dtype::fp16:
      return 2;
    case Dtype::fp8:
      return 1;
  }
  return 4;
}

}  // namespace stepcast
