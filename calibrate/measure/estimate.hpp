#pragma once

#include <string>

#include "calibrate/measure/measurement.hpp"

namespace stepcast {

/// How nodes are joined, as far as it is known before anything is measured.
struct LinkGuess {
  BytesPerSecond rate;  ///< what large messages reach between nodes; 0: one node
  Seconds latency;      ///< of one message
};

/// What measurements will take, from the shipped profile of the device (of a typical GPU, where there is none
/// of its name) and the trainer's software. For plans and time limits only; no result depends on it.
class Estimates {
 public:
  Estimates(const DeviceFacts& device, const LinkGuess& between_nodes);

  /// What the cost model counts that a memory-bound operator moves: the sum of Kernel::memory * count of
  /// CostModel::operator_work with software stepcast-trainer, in the measurement's type with fp32 gradients
  /// that are added to (CostOptions::accumulate). Special ones:
  /// - embedding: of tokens and positions together, as the device's kernel does both;
  /// - cross_entropy: forward and backward together, likewise;
  /// - copy: reading and writing; adamw: 28 bytes an element (reads four fp32 tensors, writes three).
  [[nodiscard]] Bytes moved_bytes(const Measurement& kernel) const;
  /// Of one call.
  [[nodiscard]] Seconds one_call(const Measurement& what) const;
  /// "h100-sxm": whose figures it uses.
  [[nodiscard]] const std::string& device_name() const { return cost_.gpu().name; }

 private:
  CostModel cost_;
  LinkGuess between_nodes_;
};

/// Bytes that one rank sends in one call, per byte of nccl-tests' size, in the best algorithm: 2 (n - 1) / n
/// of an all_reduce and so on (facts that nccl-tests' bus bandwidth is defined by).
[[nodiscard]] double sent_share(Operation operation, int ranks);

}  // namespace stepcast
