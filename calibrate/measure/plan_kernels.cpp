#include <string_view>

#include "calibrate/measure/plan.hpp"

namespace stepcast {
namespace {

struct MemoryKernel {
  std::string_view operation;
  bool backward;  ///< has one of its own
  std::int64_t columns;
};

/// A host's caches hold what a small model's layers move, a GPU's hardly do.
constexpr std::int64_t host_columns = 512, host_classes = 4096, host_table = 4096;
constexpr std::int64_t gpu_columns = 4096, gpu_classes = 32768, gpu_table = 32768;

std::int64_t largest_count(const PlanBuilder& plan) { return plan.on_host() ? 1 << 23 : 1 << 28; }

std::vector<std::int64_t> element_counts(const PlanBuilder& plan) {
  const std::int64_t first = plan.on_host() ? 1 << 13 : 1 << 16;
  const std::int64_t last = largest_count(plan);
  std::vector<std::int64_t> counts;
  for (std::int64_t n = first; n <= last; n *= plan.quick() ? 8 : 4) counts.push_back(n);
  return counts;
}

Measurement kernel(std::string_view operation, std::int64_t elements, std::int64_t columns, Pass pass,
                   Dtype type) {
  Measurement what;
  what.kind = Measurement::Kind::kernel;
  what.operation = operation;
  what.elements = elements;
  what.columns = columns;
  what.pass = pass;
  what.dtype = type;
  return what;
}

}  // namespace

void plan_kernels(PlanBuilder& plan) {
  const std::int64_t columns = plan.on_host() ? host_columns : gpu_columns;
  const std::int64_t classes = plan.on_host() ? host_classes : gpu_classes;
  const MemoryKernel kernels[] = {{"norm", true, columns},       {"bias", true, columns},
                                  {"activation", true, columns}, {"residual", true, columns},
                                  {"embedding", true, columns},  {"cross_entropy", false, classes}};
  const Dtype type = plan.main_type();
  // Copies tell the memory's rate only where caches don't hold them, so the largest is made first.
  const std::int64_t largest = largest_count(plan);
  plan.add(kernel("copy", largest, largest, Pass::forward, Dtype::fp32), 0);
  for (const std::int64_t n : element_counts(plan)) {
    // The optimizer's states and gradients are fp32.
    plan.add(kernel("copy", n, n, Pass::forward, Dtype::fp32), 0);
    plan.add(kernel("adamw", n, n, Pass::forward, Dtype::fp32), 0);
    for (const MemoryKernel& k : kernels) {
      if (n < k.columns) continue;
      Measurement what = kernel(k.operation, n, k.columns, Pass::forward, type);
      if (k.operation == "embedding") what.rows = plan.on_host() ? host_table : gpu_table;
      plan.add(what, 0);
      if (!k.backward) continue;
      what.pass = Pass::backward;
      plan.add(what, 0);
    }
  }
  if (plan.on_host()) return;
  for (double size = 64.0 * 1024; size <= 256.0 * 1024 * 1024; size *= 16) {
    for (const bool to_device : {true, false}) {
      Measurement copy;
      copy.kind = Measurement::Kind::host_copy;
      copy.bytes = Bytes(size);
      copy.to_device = to_device;
      plan.add(copy, 1);
    }
  }
}

void plan_attention(PlanBuilder& plan) {
  const bool host = plan.on_host();
  const std::vector<std::int64_t> lengths =
      host ? (plan.quick() ? std::vector<std::int64_t>{64, 128, 256, 512}
                           : std::vector<std::int64_t>{32, 64, 128, 256, 512, 1024})
           : (plan.quick() ? std::vector<std::int64_t>{1024, 4096}
                           : std::vector<std::int64_t>{256, 512, 1024, 2048, 4096, 8192});
  const std::vector<std::int64_t> head_dims =
      host ? std::vector<std::int64_t>{32, 64} : std::vector<std::int64_t>{64, 128};
  struct Batch {
    std::int64_t samples, heads;
  };
  const std::vector<Batch> batches =
      host ? std::vector<Batch>{{2, 4}, {8, 4}} : std::vector<Batch>{{1, 32}, {4, 32}};
  const Seconds longest(host ? (plan.quick() ? 0.05 : 0.2) : 1.0);
  for (const std::int64_t length : lengths) {
    for (const std::int64_t head_dim : head_dims) {
      for (const Batch& batch : batches) {
        for (const Pass pass : {Pass::forward, Pass::backward}) {
          Measurement what;
          what.kind = Measurement::Kind::attention;
          what.dtype = plan.main_type();
          what.samples = batch.samples;
          what.heads = batch.heads;
          what.head_dim = head_dim;
          what.length = length;
          what.pass = pass;
          plan.add(what, batch.samples == batches.front().samples ? 0 : 1, {}, longest);
        }
      }
    }
  }
}

}  // namespace stepcast
