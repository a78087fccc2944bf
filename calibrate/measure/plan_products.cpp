#include <algorithm>
#include <array>

#include "calibrate/measure/plan.hpp"

namespace stepcast {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Linear layers on a grid of tokens, outputs and inputs.
struct Grid {
  Sizes tokens, features;
};

struct Linear {
  std::int64_t tokens, out, in;
};

void add_linear(PlanBuilder& plan, const Linear& linear, Dtype type, int stage, Seconds shortest,
                Seconds longest) {
  for (const Measurement& product : products_of_linear(linear.tokens, linear.out, linear.in, type))
    plan.add(product, stage, shortest, longest);
}

void add_grid(PlanBuilder& plan, const Grid& grid, Dtype type, int stage, Seconds shortest, Seconds longest) {
  for (const std::int64_t tokens : grid.tokens) {
    for (const std::int64_t out : grid.features) {
      for (const std::int64_t in : grid.features)
        add_linear(plan, {tokens, out, in}, type, stage, shortest, longest);
    }
  }
}

Measurement sustained_product(const PlanBuilder& plan) {
  const std::int64_t side = plan.on_host() ? 512 : 8192;
  Measurement product = products_of_linear(side, side, side, plan.main_type()).front();
  product.kind = Measurement::Kind::sustained;
  return product;
}

void plan_host_products(PlanBuilder& plan) {
  const Seconds shortest(2e-5), longest(plan.quick() ? 0.025 : 0.05);
  const Dtype type = Dtype::fp32;
  add_grid(plan, {{32, 512}, {64, 256, 1024, 4096}}, type, 0, shortest, longest);
  add_grid(plan, {{128, 2048}, {64, 256, 1024, 4096}}, type, 1, shortest, longest);
  // A vocabulary's logits, sizes that are no powers of two, and the MLP of gpt2.
  for (const Linear& linear :
       {Linear{256, 8192, 256}, Linear{128, 16384, 128}, Linear{512, 2048, 192}, Linear{256, 768, 768},
        Linear{64, 3072, 768}, Linear{64, 768, 3072}, Linear{100, 1000, 300}, Linear{512, 512, 512}})
    add_linear(plan, linear, type, 0, shortest, longest);
  if (plan.quick()) return;
  add_grid(plan, {{16, 32, 64, 128, 256, 512, 1024, 2048}, {64, 128, 256, 512, 1024, 2048, 4096}}, type, 2,
           shortest, longest);
  add_linear(plan, {128, 50257, 128}, type, 2, shortest, longest);
}

void plan_gpu_products(PlanBuilder& plan) {
  const Dtype type = plan.main_type();
  add_grid(plan, {{1024, 8192}, {256, 1024, 4096, 16384}}, type, 0, {}, {});
  for (const Linear& linear :
       {Linear{4096, 50257, 1024}, Linear{4096, 50304, 1024}, Linear{4096, 128256, 4096},
        Linear{4096, 64, 4096}, Linear{4096, 128, 4096}, Linear{2048, 3072, 768}, Linear{2048, 768, 3072},
        Linear{8192, 14336, 4096}, Linear{8192, 6144, 4096}, Linear{8192, 8192, 8192}})
    add_linear(plan, linear, type, 0, {}, {});
  const Grid coarse{{4096}, {1024, 4096, 16384}};
  for (const Dtype other : plan.device().dtypes) {
    if (other != type) add_grid(plan, coarse, other, plan.quick() ? 1 : 2, {}, {});
  }
  if (plan.quick()) return;
  add_grid(plan, {{256, 1024, 4096, 16384}, {256, 512, 1024, 2048, 4096, 8192, 16384}}, type, 2, {}, {});
}

}  // namespace

std::vector<Measurement> products_of_linear(std::int64_t tokens, std::int64_t out, std::int64_t in,
                                            Dtype type) {
  Measurement forward;
  forward.kind = Measurement::Kind::gemm;
  forward.dtype = type;
  forward.rows = tokens;
  forward.columns = out;
  forward.depth = in;
  forward.transpose_b = true;
  Measurement input_gradient = forward;
  input_gradient.columns = in;
  input_gradient.depth = out;
  input_gradient.transpose_b = false;
  Measurement weight_gradient = input_gradient;
  weight_gradient.rows = out;
  weight_gradient.depth = tokens;
  weight_gradient.transpose_a = true;
  return {forward, input_gradient, weight_gradient};
}

void plan_products(PlanBuilder& plan) {
  if (plan.on_host()) {
    plan_host_products(plan);
  } else {
    plan_gpu_products(plan);
  }
  plan.add(sustained_product(plan), 1);
}

}  // namespace stepcast
