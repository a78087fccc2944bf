#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/units.hpp"
#include "sim/cost/operator_times.hpp"

namespace stepcast {

/// A figure about hardware or software, with where it comes from.
template <class T>
struct Figure {
  T value{};
  std::string source, measured_on;
  double spread{};  ///< relative standard deviation; 0 when not known
};

/// How good the origin of a figure is; results report the worst that went into them.
enum class Origin { measured, published, datasheet, extrapolated };
[[nodiscard]] std::string_view name_of(Origin origin);

/// What one GPU does. Keys, units and meanings: docs/profile.md.
struct GpuProfile {
  std::string name;  ///< "h100-sxm"
  int sms{};
  Figure<double> compute_capability;   ///< 9.0 on H100; 0 for host devices
  Figure<Bytes> memory_capacity;       ///< what the driver offers
  Figure<BytesPerSecond> memory_peak;  ///< datasheet
  Figure<BytesPerSecond> memory_rate;  ///< achieved by a large read + write stream
  Figure<Seconds> memory_latency;      ///< fixed part of a memory-bound kernel: bytes / rate + latency
  std::map<Dtype, Figure<FlopPerSecond>> peak;   ///< dense datasheet peak by compute type
  std::map<Dtype, Figure<double>> gemm_ceiling;  ///< best-shape share of the peak
  Figure<Seconds> gemm_latency;                  ///< prologue and epilogue of one product
  struct Tile {
    int rows{}, columns{};
    double efficiency{};  ///< of the ceiling, relative to the best tile
  };
  std::vector<Tile> tiles;       ///< of tensor-core products; transposes are listed too
  std::vector<Tile> simt_tiles;  ///< of fp32 products, which run beside the tensor cores; empty: as `tiles`
  double split_k_depth{};        ///< least depth of a slice when tiles do not fill the GPU
  Figure<double>
      misaligned_efficiency;  ///< factor on a tensor-core product whose features are not 16-byte aligned
  /// Attention by kernel ("flash", "flash3", "eager"): share of the peak for long sequences at head size 128.
  struct Attention {
    Figure<double> forward, backward;  ///< shares of the peak; causal work counted halved
    double half_length{};              ///< sequence at which half of it is reached
    double causal_half_length{};       ///< likewise under a causal mask
    double head_exponent{};            ///< (min(head_dim, 128) / 128)^exponent
    int query_block{};  ///< queries of one thread block: only waves under SM reservation depend on it
  };
  std::map<std::string, Attention> attention;
  std::map<Dtype, Figure<double>> convolution_ceiling;
  Figure<BytesPerSecond> host_link_rate;  ///< pinned copies over PCIe
  Figure<Bytes> context_memory;           ///< CUDA context with libraries
  Figure<double> kernel_jitter;           ///< relative standard deviation of one kernel's time
  OperatorTimes measured;                 ///< of single operators; where it has points, they hold
  Origin gemm_origin{Origin::datasheet}, attention_origin{Origin::datasheet},
      memory_origin{Origin::datasheet};
};

/// The type whose units really compute a product asked for in `type`: a GPU without fp8 computes it in bf16,
/// one without bf16 or tf32 (V100) in fp32, one without fp16 (a CPU core) in fp32.
[[nodiscard]] Dtype effective_dtype(const GpuProfile& gpu, Dtype type);

/// What links and collectives reach on a node type; fabric figures come with the fabric.
struct LinkProfile {
  std::string node;
  Figure<double> nvlink_efficiency;  ///< share of the raw NVLink rate that a large ring reaches
  Figure<double> nvls_efficiency;    ///< likewise in-switch reduction
  Figure<double> pcie_efficiency;
  Figure<double> tree_efficiency;
  Figure<Seconds> base_latency;      ///< added once per collective beyond NCCL's model (launch, sync)
  Figure<Seconds> fill_latency;      ///< NVLink pipelines: extra latency reached at large sizes
  Figure<Bytes> nccl_memory;         ///< buffers of one communicator on one GPU
  Figure<double> collective_jitter;  ///< relative standard deviation of one collective's time
  Origin origin{Origin::datasheet};
};

/// Measured collective of a calibrated profile (design 6.5).
struct MeasuredCollective {
  std::string operation, fabric;
  int ranks{}, nodes{};
  std::optional<BytesPerSecond> link_rate;
  std::optional<int> gpus_per_node;
  std::vector<std::pair<Bytes, Seconds>> points, cpu_points;  ///< sorted by size
  std::string source, measured_on;
  std::string nccl_version;  ///< may be empty
};

/// What the framework does.
struct SoftwareProfile {
  std::string name;
  double fusion{};  ///< 0: every operator its own kernel; 1: pointwise chains fused
  /// In order of preference; load_profile sets attention_kernel to the first one that the GPU has.
  std::vector<std::string> attention_kernels;
  Figure<double> memory_efficiency;  ///< share of the memory rate that its memory-bound operators reach
  std::string attention_kernel;      ///< "flash", "flash3", "efficient" (flash-like memory) or "eager"
  Figure<Seconds> host_per_kernel;   ///< CPU time to launch one kernel
  Figure<Seconds> host_per_collective;
  Figure<Seconds> host_per_step;  ///< zero_grad, scheduler, data hand-over
  bool fused_optimizer{};         ///< one pass over memory; else foreach (several)
  bool fused_cross_entropy{};
  double autocast_casts{};          ///< passes over the weights per micro-batch that autocast spends on casts
  Figure<Bytes> product_workspace;  ///< of the GPU library, for each stream with products
  Figure<double> allocator_slack;   ///< reserved / allocated - 1
  Figure<double> foreach_traffic;   ///< bytes of a foreach optimizer over those of a fused one
  int foreach_operations{1};        ///< launches of a foreach optimizer for each one of a fused one
  int tensors_per_launch{1};        ///< that one multi-tensor launch of the optimizer takes
  bool fused_gradient_accumulation{};  ///< weight-gradient products add into the gradient themselves
  bool fused_bias{
      true};  ///< a product's kernel adds its bias; else a kernel of its own reads and writes the result
  Figure<double> quantise_bytes;  ///< fp8: bytes moved to quantise one element of a product's input
  /// Bytes that one element costs under autocast (fp32 weights, 16-bit products), casts included, in
  /// memory-bound operators that it runs in fp32: by the last word of the operator's name
  /// ("attention.post_norm" is a "norm").
  std::map<std::string, Figure<double>> autocast_bytes;
  /// Passes over the score matrix of unfused attention, in elements of the compute type for one score.
  struct EagerAttention {
    Figure<double> forward_passes;  ///< without mask
    Figure<double> mask_passes;     ///< more in forward under a causal mask
    Figure<double> backward_passes;
    Figure<double> autocast_passes;  ///< more in each direction under autocast (softmax in fp32)
    Figure<double> dropout_passes;   ///< more in forward and again in backward with attention dropout
  } eager_attention;
  Origin origin{Origin::published};
};

/// Everything known about one scenario's hardware and software.
struct Profile {
  GpuProfile gpu;
  LinkProfile links;
  SoftwareProfile software;
  std::vector<MeasuredCollective> collectives;
  double kernel_jitter{};  ///< relative standard deviation of one kernel's time; 0: none
  double collective_jitter{};
  std::vector<std::string> notes;  ///< sections that were not used because the name differs
};

/// The shipped profile of the named GPU, node and software, overridden figure by figure by `files` in order.
/// @throws ScenarioError: unknown GPU or software (with suggestion) at `place`, or a profile file's own
/// faults.
[[nodiscard]] Profile load_profile(const std::string& gpu, const std::string& node,
                                   const std::string& software, const std::vector<std::string>& files,
                                   const SourcePlace& place);
[[nodiscard]] std::vector<std::string> gpu_profile_names();
[[nodiscard]] std::vector<std::string> software_profile_names();

}  // namespace stepcast
