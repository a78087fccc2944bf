#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "models/model.hpp"
#include "sim/cost/profile.hpp"

namespace stepcast {

enum class KernelClass { gemm, attention, memory };

/// One kernel, or `count` equal ones in a row.
struct Kernel {
  std::string name;
  KernelClass kind{};
  int count{1};
  Seconds time;             ///< of one, all SMs free, memory not shared
  double blocks{};          ///< thread blocks of one SM-filling wave pattern; 0: does not depend on SMs
  double blocks_per_sm{1};  ///< resident at once
  double memory_share{};    ///< part of `time` during which device memory is the limit
  Seconds wave;             ///< length of one wave; 0: (time - fixed) / waves with all SMs free
  Seconds fixed;            ///< part of `time` that waves do not scale
  Bytes memory;             ///< moved by one
  Flop flops;               ///< matrix FLOPs of one, by the convention of forward_flops and backward_flops
  bool launch_bound{};      ///< its time is mostly the fixed part
  bool pause{};             ///< a wait: what shares the host's core does not lengthen it
};

/// ceil(blocks / ((sms - reserved) * blocks_per_sm)), on at least one SM (facts I38).
[[nodiscard]] double wave_count(double blocks, double blocks_per_sm, int sms, int reserved);

/// A run of kernels on one stream, and what the CPU pays to launch it.
struct Work {
  std::vector<Kernel> kernels;
  Seconds host_time;  ///< CPU time to issue all of it

  void append(const Work& other);
  [[nodiscard]] int kernel_count() const;
  [[nodiscard]] Flop flops() const;
  /// Sum of kernel times when `reserved_sms` of the GPU's are taken by collectives: kernels with blocks run
  /// in wave_count waves of the length they have when all are free, and never faster than `time` (memory may
  /// be the limit):
  ///     max(time, fixed + wave * wave_count(reserved)); exactly `time` with none reserved.
  [[nodiscard]] Seconds duration(int sms, int reserved_sms) const;
  /// Part of duration(sms, 0) limited by device memory.
  [[nodiscard]] Seconds memory_time() const;
  /// Part of the duration that is pauses.
  [[nodiscard]] Seconds pause_time() const;
  [[nodiscard]] Seconds time_of(KernelClass kind) const;
};

struct CostOptions {
  Dtype compute{Dtype::bf16};     ///< of products and activations
  Dtype parameters{Dtype::bf16};  ///< what the weights are stored in (autocast: fp32, cast on use)
  Dtype gradients{Dtype::bf16};   ///< accumulated weight gradients
  bool accumulate{};  ///< backward adds to gradients that are there (micro-batches after the first)
  double fusion{-1};  ///< < 0: the software profile's
};

/// How long operators take on one GPU. Memoizes by (operator, shape, types): share one between the points of
/// a sweep that use the same profile, on one thread.
class CostModel {
 public:
  CostModel(const GpuProfile& gpu, const SoftwareProfile& software);
  ~CostModel();
  CostModel(CostModel&&) noexcept;

  /// One operator on `micro_batch` samples. Source of each equation: docs/cost.md.
  [[nodiscard]] Work operator_work(const Operator& op, Pass pass, int micro_batch,
                                   const CostOptions& options) const;
  /// Operators first .. last-1 of a layer.
  [[nodiscard]] Work layer_work(const Layer& layer, Pass pass, int micro_batch,
                                const CostOptions& options) const;
  /// What recomputation repeats of a block in backward.
  [[nodiscard]] Work recompute_work(const Layer& layer, Recompute recompute, int micro_batch,
                                    const CostOptions& options) const;
  /// One optimizer step over `elements` parameters in `tensors` tensors. bytes_per_element: read and written.
  [[nodiscard]] Work optimizer_work(double elements, int tensors, double bytes_per_element) const;
  /// A copy, cast or scale that reads and writes `moved` bytes in `kernels` launches.
  [[nodiscard]] Work copy_work(const std::string& name, Bytes moved, int kernels) const;

  [[nodiscard]] const GpuProfile& gpu() const;
  [[nodiscard]] const SoftwareProfile& software() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stepcast
