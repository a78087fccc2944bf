#pragma once

#include <driver_types.h>

#include <memory>
#include <string>

#include "calibrate/device.hpp"

namespace stepcast {

/// Products by cuBLASLt, opened at run time. fp32 runs without TF32; tf32, bf16, fp16 and fp8 (E4M3) on
/// tensor cores; all add up in fp32. fp8 operands need `transpose_b` and not `transpose_a` (the only layout
/// that GPUs before Blackwell have), results of another type, and sizes that 16 divides.
class Blas {
 public:
  /// @param compute_capability  of the current device
  Blas(double compute_capability, cudaStream_t stream);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  void gemm(const GemmCall& call);
  [[nodiscard]] std::string version() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepcast
